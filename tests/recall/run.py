#!/usr/bin/env python3
"""Scores recall on sets of questions with known answers: run.py [PUBLIC_DIR] [--model NAME] [--binary PATH] [--put] [--now]
[--recency W] [--sets A,B]

PUBLIC_DIR holds a folder a set with memories.jsonl {conv,id,session,date,speaker,text} and queries.jsonl
{conv,qid,question,now?}; the scorers eval_recall.py and eval_dup.py stand beside it. The memories of a set go into one
new store, each conversation a scope, through `remember --jsonl` (with --put through `put --jsonl`); the questions are
asked by `recall --queries`. With --now each question is asked at its own time. `exists` asks whether a statement of
restate/ is in the store of locomo, by the confidence of the hits; `dup` holds pairs of texts against each other (needs
`cargo build --release --example similarity`). Of locomo, realtalk and beam the margin over SQLite's FTS5 is printed (a
conversation a table, "speaker: text", porter, the same stop words left out, the rest joined by OR), and what it costs
that of two leading hits the newer one comes first where a state is asked for.
`everyday` needs no PUBLIC_DIR: 60 questions in other words than the facts of everyday.jsonl, which stand among 60 other
facts. It is asked of the present state, and of a past one after every fact was replaced.
`facts` needs none either: thirty facts, and 206 turns of five conversations that ask for them, guess, deny and talk of other
things in the same words. It asks for each fact, and twelve questions that only a turn answers.
--model is the model for recall by meaning, as TREERING_MODEL names it: `bundled`, or an installed one. By default it is
`none`, so that results can be compared with those by words. Only the standard library is needed.
The spread of R@10 and MRR over the conversations of a set is printed too: a mean over a few conversations says little
without it. docs/testing.md says what comes out, docs/performance/recall.md what it means."""
import argparse, json, os, re, sqlite3, statistics, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BESIDE_FTS5 = ("locomo", "realtalk", "beam")
SETS = ("everyday", "facts", "locomo", "realtalk", "beam", "update", "exists", "dup")


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def write(path, documents):
    with open(path, "w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(document, ensure_ascii=False) + "\n" for document in documents)


def whole(time):
    """An RFC 3339 time from one without seconds and zone."""
    return time if time.endswith("Z") else time + (":00Z" if time.count(":") == 1 else "Z")


def stored(memory, put):
    """A line of `remember --jsonl`, or of `put --jsonl`."""
    name = f"{memory['conv']}/{memory['id']}"
    session, time = str(memory["session"]), whole(memory["date"])
    if put:
        attributes = {"session": session, "speaker": memory["speaker"]}
        return dict(id=name, kind="entry", scope=memory["conv"], content=memory["text"], attributes=attributes, event_time=time)
    return dict(id=name, text=memory["text"], scope=memory["conv"], session=session, speaker=memory["speaker"], time=time)


def run(command, **how):
    done = subprocess.run(command, text=True, check=False, **how)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}")
    return done


def recalled(options, store, questions, folder, more=()):
    """The answers to questions {conv, qid, query, scope, now?}, in the scorers' form."""
    asked, answered = f"{folder}/asked.jsonl", f"{folder}/answered.jsonl"
    write(asked, [{key: value for key, value in one.items() if key != "conv"} for one in questions])
    with open(answered, "w", encoding="utf-8") as out:
        run([options.binary, "--store", store, "recall", "--queries", asked, "--limit", "100", "--json", "--recency", options.recency, *more], stdout=out)
    for question, answer in zip(questions, read(answered), strict=True):
        inside = question["conv"] + "/"
        ranked = [hit["id"].removeprefix(inside) for hit in answer["hits"]]
        yield dict(conv=question["conv"], qid=question["qid"], ranked=ranked, ms=answer["ms"], scores=[hit["confidence"] for hit in answer["hits"]])


def filled(name, options, folder):
    """A store with the memories of a set."""
    store, lines = f"{folder}/{name}", f"{folder}/{name}.jsonl"
    if not os.path.exists(store):
        write(lines, [stored(memory, options.put) for memory in read(f"{options.public}/{name}/memories.jsonl")])
        verb = "put" if options.put else "remember"
        run([options.binary, "--store", store, verb, "--jsonl", lines], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return store


def everyday(options, folder):
    """How often the fact that answers a question is the first hit, and how often it is among three."""
    lines = read(f"{HERE}/everyday.jsonl")
    store, facts = f"{folder}/everyday", f"{folder}/everyday.jsonl"
    quietly = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for state in ("then", "now"):
        text = (lambda line: line["fact"]) if state == "then" else (lambda line: f"Nothing is known about {line['id']} any more.")
        write(facts, [dict(id=f"everyday/{line['id']}", text=text(line), scope="everyday") for line in lines])
        run([options.binary, "--store", store, "remember", "--jsonl", facts], **quietly)
        if state == "then":
            run([options.binary, "--store", store, "snapshot", state], **quietly)
        asked = [line for line in lines if "question" in line]
        questions = [dict(conv="everyday", qid=line["id"], query=line["question"], scope="everyday") for line in asked]
        ranks = []
        for line, answer in zip(asked, recalled(options, store, questions, folder, ["--at", "then"] if state == "now" else [])):
            ranks.append(answer["ranked"].index(line["id"]) if line["id"] in answer["ranked"] else len(lines))
        first, three = (sum(rank < most for rank in ranks) for most in (1, 3))
        print(f"everyday, {'the present' if state == 'then' else 'a past'} state: of {len(asked)} questions first {first}, in three {three}", flush=True)
    print()


def facts(options, folder):
    """How often the fact stands first, and the turn that answers is among five, and how often the question is a hit."""
    lines = read(f"{HERE}/facts.jsonl")
    store, given = f"{folder}/facts", f"{folder}/facts.jsonl"
    known, turns = [line for line in lines if "fact" in line], [line for line in lines if "speaker" in line]
    quietly = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def remember(text):
        write(given, [dict(id=f"facts/{line['id']}", kind=line.get("kind", "fact"), text=text(line), scope="facts") for line in known])
        run([options.binary, "--store", store, "remember", "--jsonl", given], **quietly)

    remember(lambda line: line.get("before", line["fact"]))
    for session in sorted({turn["session"] for turn in turns}):
        write(given, [{key: turn[key] for key in ("id", "speaker", "text")} for turn in turns if turn["session"] == session])
        run([options.binary, "--store", store, "session", "append", "--session", session, "--scope", "facts", "--jsonl", given], **quietly)
    remember(lambda line: line["fact"])
    asked = [(line["question"], lambda hit, line=line: hit["id"] == f"facts/{line['id']}") for line in known]
    told = [(turn["answers"], lambda hit, turn=turn: hit["snippet"] == turn["text"]) for turn in turns if "answers" in turn]
    write(given, [dict(qid=str(place), query=question, scope="facts") for place, (question, _) in enumerate(asked + told)])
    with open(f"{folder}/facts-answered.jsonl", "w", encoding="utf-8") as out:
        run([options.binary, "--store", store, "recall", "--queries", given, "--limit", "10", "--json"], stdout=out)
    hits = [answer["hits"] for answer in read(f"{folder}/facts-answered.jsonl")]
    places = [next((place for place, hit in enumerate(of) if is_it(hit)), 10) for of, (_, is_it) in zip(hits, asked + told)]
    itself = sum(any(hit["snippet"] == question for hit in of) for of, (question, _) in zip(hits, asked + told))
    first, in_five = sum(place == 0 for place in places[: len(asked)]), sum(place < 5 for place in places[len(asked) :])
    print(f"facts: of {len(asked)} the fact is first {first}; of {len(told)} that only a turn answers, it is in five {in_five}; the question is a hit {itself}\n", flush=True)


def exists(options, scorers, folder):
    queries = f"{options.public}/restate/queries.jsonl"
    questions = [dict(conv=query["conv"], qid=query["qid"], query=query["question"], scope=query["conv"]) for query in read(queries)]
    answers = list(recalled(options, filled("locomo", options, folder), questions, folder))
    for answer in answers:
        best = sorted(zip(answer["scores"], answer["ranked"]), key=lambda pair: -pair[0])[:20]
        answer["scores"], answer["ranked"] = [pair[0] for pair in best], [pair[1] for pair in best]
    write(f"{folder}/exists-run.jsonl", answers)
    run([sys.executable, f"{scorers}/eval_dup.py", "exists", queries, f"{options.public}/locomo/memories.jsonl", f"{folder}/exists-run.jsonl"])


def duplicates(options, scorers, folder):
    program = f"{os.path.dirname(options.binary)}/examples/similarity"
    if not os.path.exists(program):
        return print("dup: left out, there is no", program)
    pairs = f"{options.public}/dup/pairs.jsonl"
    with open(pairs, encoding="utf-8") as given, open(f"{folder}/dup-run.jsonl", "w", encoding="utf-8") as out:
        run([program], stdin=given, stdout=out)
    run([sys.executable, f"{scorers}/eval_dup.py", "pairs", pairs, f"{folder}/dup-run.jsonl", "--threshold", "0.37"])


def stop_words():
    with open(f"{HERE}/../../text/src/recall/text/words/stop.txt", encoding="utf-8") as listed:
        return {word for line in listed if not line.startswith("#") for word in line.split()}


def fts5(data, questions):
    """The best hundred by SQLite's FTS5, in the scorers' form."""
    tables, stop = {}, stop_words()
    for memory in read(f"{data}/memories.jsonl"):
        if memory["conv"] not in tables:
            database = sqlite3.connect(":memory:")
            database.execute("create virtual table f using fts5(t, tokenize='porter unicode61')")
            tables[memory["conv"]] = database, []
        database, ids = tables[memory["conv"]]
        database.execute("insert into f(rowid, t) values (?, ?)", (len(ids), f"{memory['speaker']}: {memory['text']}"))
        ids.append(memory["id"])
    for question in questions:
        words = [word for word in re.findall(r"\w+", question["query"].lower()) if word not in stop] or ["the"]
        database, ids = tables[question["conv"]]
        asked = " OR ".join(f'"{word}"' for word in words)
        found = database.execute("select rowid from f where f match ? order by bm25(f) limit 100", (asked,))
        yield dict(conv=question["conv"], qid=question["qid"], ranked=[ids[row] for (row,) in found])


def scored(scorers, data, answers):
    """The R@10 and MRR of each answer, as the scorer counts them, by conversation."""
    if scorers not in sys.path:
        sys.path.insert(0, scorers)
    import eval_recall

    memories, queries = eval_recall.load(data)
    by_conversation = {}
    for query in queries:
        by_conversation.setdefault(query["conv"], []).append(query)
    answers = {(one["conv"], one["qid"]): one for one in answers}
    for conversation, queries in by_conversation.items():
        scores, _ = eval_recall.score(memories, queries, answers)
        yield conversation, {name: [one[name] for one in scores.values()] for name in ("R@10", "MRR")}


def means(by_conversation):
    """The means over all questions."""
    return {name: statistics.mean(score for scores in by_conversation.values() for score in scores[name]) for name in ("R@10", "MRR")}


def spread(name, by_conversation):
    """The mean, the extremes, the quartiles and the standard deviation of the means of the conversations."""
    values = sorted(statistics.mean(scores[name]) for scores in by_conversation.values())
    if len(values) < 2:
        return f"{name}: one conversation"
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    mean, deviation = statistics.mean(values), statistics.stdev(values)
    return f"{name}: mean {mean:.3f} min {values[0]:.3f} quartiles {low:.3f} {middle:.3f} {high:.3f} max {values[-1]:.3f} deviation {deviation:.3f}"


def score(name, options, scorers, folder):
    data, store = f"{options.public}/{name}", filled(name, options, folder)
    now = lambda query: {"now": query["now"]} if options.now and "now" in query else {}
    questions = [dict(conv=query["conv"], qid=query["qid"], query=query["question"], scope=query["conv"], **now(query)) for query in read(f"{data}/queries.jsonl")]
    answers = list(recalled(options, store, questions, folder))
    write(f"{folder}/{name}-run.jsonl", answers)
    run([sys.executable, f"{scorers}/eval_recall.py", data, f"{folder}/{name}-run.jsonl", "--by-category"])
    by_conversation = dict(scored(scorers, data, answers))
    print(f"  over {len(by_conversation)} conversations,", spread("R@10", by_conversation))
    print(f"  over {len(by_conversation)} conversations,", spread("MRR", by_conversation))
    if name in BESIDE_FTS5:
        ours, theirs = means(by_conversation), means(dict(scored(scorers, data, fts5(data, questions))))
        print(f"  beside FTS5: R@10 {theirs['R@10']:.3f} MRR {theirs['MRR']:.3f}, so R@10 {ours['R@10'] - theirs['R@10']:+.3f} MRR {ours['MRR'] - theirs['MRR']:+.3f}")
        plain = means(dict(scored(scorers, data, recalled(options, store, questions, folder, ["--no-fresher"]))))
        print(f"  the fresher first costs R@10 {plain['R@10'] - ours['R@10']:+.4f} MRR {plain['MRR'] - ours['MRR']:+.4f} (asked: at most .01 lost)")
    times = sorted(answer["ms"] for answer in answers)
    print(f"  ms p50 {times[len(times) // 2]:.3f} p95 {times[len(times) * 95 // 100]:.3f}\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("public", nargs="?")
    parser.add_argument("--model", default="none")
    parser.add_argument("--binary", default="target/release/treering")
    parser.add_argument("--put", action="store_true")
    parser.add_argument("--now", action="store_true")
    parser.add_argument("--recency", default="0.3")
    parser.add_argument("--sets")
    options = parser.parse_args()
    sets = options.sets or ",".join(SETS if options.public else SETS[:2])
    options.binary = os.path.abspath(options.binary)
    # The settings of the user have no part in it.
    os.environ["TREERING_MODEL"] = options.model
    os.environ.pop("TREERING_SETTINGS", None)
    scorers = os.path.dirname(os.path.abspath(options.public or ""))
    with tempfile.TemporaryDirectory() as folder:
        for name in sets.split(","):
            if name == "everyday":
                everyday(options, folder)
            elif name == "facts":
                facts(options, folder)
            elif name == "exists":
                exists(options, scorers, folder)
            elif name == "dup":
                duplicates(options, scorers, folder)
            else:
                score(name, options, scorers, folder)


main()
