"""Recall by meaning with the model of the wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

import treering

DEPLOY = "Deploys happen on Friday at 15:00."
QUESTION = "When do we ship?"


@pytest.fixture(autouse=True)
def bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREERING_MODEL")


def test_an_item_in_other_words_is_found() -> None:
    with treering.in_memory(project="tests") as agent:
        agent.remember(DEPLOY, id="deploy")
        agent.remember("The office is in Oslo.", id="office")
        # On a busy machine, one recall may not have the time to compute both vectors.
        while (found := agent.recall(QUESTION)).vectors is not None and found.vectors.pending:
            pass
        assert found.hits[0].id == "deploy"
        assert found.vectors is not None
        assert found.vectors.model.startswith("all-MiniLM-L6-v2@")
        assert (found.vectors.embedded, found.vectors.pending) == (2, 0)


def test_without_a_model_words_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREERING_MODEL", "none")
    with treering.in_memory(project="tests") as agent:
        agent.remember(DEPLOY)
        assert agent.embed() is None
        found = agent.recall(QUESTION)
        assert (len(found.hits), found.vectors) == (0, None)


def test_vectors_are_there_in_the_next_process(folder: Path) -> None:
    with treering.open(folder, project="tests") as agent:
        agent.remember(DEPLOY, id="deploy")
        counts = agent.embed()
        assert counts is not None
        assert (counts.embedded, counts.pending) == (1, 0)
    with treering.open(folder, project="tests", read_only=True) as agent:
        assert agent.recall(QUESTION).hits[0].id == "deploy"


def test_a_missing_model_is_a_warning() -> None:
    settings = '[meaning]\nmodel = "nowhere"\n'
    with pytest.warns(RuntimeWarning, match="nowhere"):
        agent = treering.in_memory(project="tests", settings=settings)
    with agent:
        agent.remember(DEPLOY)
        assert agent.recall("deploys").vectors is None


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), "1"])
def test_a_wrong_time_is_refused(seconds: object) -> None:
    with treering.in_memory(project="tests") as agent, pytest.raises((treering.InvalidInputError, TypeError)):
        agent.embed(seconds)  # type: ignore[arg-type]
