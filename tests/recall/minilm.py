#!/usr/bin/env python3
"""Embeds texts: minilm.py MODEL.onnx TOKENIZER.json

A text a line comes in as a JSON string, its vector goes out as a JSON array, in the order asked. MODEL is a sentence
transformer in ONNX, TOKENIZER its tokenizer; the vector is the mean of those of the tokens. Needs the packages onnxruntime
and tokenizers. Made for tests/recall/run.py --embedder."""
import json, sys

import numpy, onnxruntime, tokenizers

TOKENS_MAX = 256


def main():
    model, tokenizer = onnxruntime.InferenceSession(sys.argv[1]), tokenizers.Tokenizer.from_file(sys.argv[2])
    tokenizer.enable_truncation(TOKENS_MAX)
    tokenizer.no_padding()
    names = {given.name for given in model.get_inputs()}
    for line in sys.stdin:
        read = tokenizer.encode(json.loads(line))
        given = dict(input_ids=read.ids, attention_mask=read.attention_mask, token_type_ids=read.type_ids)
        given = {name: numpy.array([row], numpy.int64) for name, row in given.items() if name in names}
        made = model.run(None, given)[0]
        vector = made.mean(axis=1)[0] if made.ndim == 3 else made[0]
        print(json.dumps([round(float(part), 6) for part in vector]), flush=True)


main()
