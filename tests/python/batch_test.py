"""A batch is used as what the collate function gave, and goes to a device with all that it holds."""
import collections
import copy
import dataclasses
import pickle
import types
import unittest
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

import paceline

Pair = collections.namedtuple("Pair", "y x")


@dataclasses.dataclass(frozen=True)
class Item:
    inputs: torch.Tensor
    more: Any = None
    count: int = dataclasses.field(default=3, init=False)


class Encoding(collections.UserDict):
    """As the BatchEncoding of Hugging Face's tokenizers: its `to` moves it in place."""

    def to(self, device):
        self.data = {key: value.to(device) for key, value in self.data.items()}
        return self

    @property
    def input_ids(self):
        return self.data["input_ids"]


class Graph:
    """PyTorch Geometric's batches have keys and items too, and their type is no Mapping."""

    def __init__(self, **parts):
        self.parts = parts

    def keys(self):
        return self.parts.keys()

    def __getitem__(self, key):
        return self.parts[key]

    @property
    def x(self):
        return self.parts["x"]

    def to(self, device):
        return Graph(**{key: value.to(device) for key, value in self.parts.items()})


class InPlace:
    def __init__(self):
        self.inner = torch.ones(1)

    def to(self, device):
        self.inner = self.inner.to(device)


def batch_of(data):
    return paceline.Batch(data, [5, 7], 1)


class BatchTest(unittest.TestCase):
    def test_of_a_pair(self):
        batch = batch_of((torch.ones(2), torch.zeros(2)))
        x, y = batch
        self.assertIs(x, batch.x)
        self.assertIs(y, batch[1])
        self.assertEqual((len(batch), batch.indices, batch.epoch), (2, [5, 7], 1))
        self.assertNotIsInstance(batch, Mapping)
        self.assertFalse(hasattr(batch, "keys"))
        with self.assertRaisesRegex(AttributeError, "this batch has no keys: its data are of type tuple"):
            batch.keys()
        named = batch_of(Pair(y=1, x=2))
        self.assertEqual((named.x, named.y, named[0]), (2, 1, 1))

    def test_of_a_mapping_is_one(self):
        labels = torch.zeros(2)
        for data in ({"inputs": 1, "labels": labels}, collections.OrderedDict(inputs=1, labels=labels),
                     Encoding(inputs=1, labels=labels), types.MappingProxyType({"inputs": 1, "labels": labels})):
            batch = batch_of(data)
            self.assertIsInstance(batch, Mapping)
            self.assertEqual((lambda **named: named)(**batch), {"inputs": 1, "labels": labels})
            self.assertEqual(dict(batch), dict(data))
            self.assertEqual(list(batch), ["inputs", "labels"])
            self.assertEqual(list(batch.keys()), ["inputs", "labels"])
            self.assertEqual([key for key, _ in batch.items()], ["inputs", "labels"])
            self.assertEqual(len(list(batch.values())), 2)
            self.assertIs(batch.get("labels"), labels)
            self.assertEqual(batch.get("mask", 7), 7)
            self.assertTrue("labels" in batch and "mask" not in batch)
            self.assertEqual(len(batch), 2, "samples")
        with self.assertRaises(KeyError):
            batch.x
        self.assertIs(batch_of({"x": labels}).x, labels)

    def test_a_script_may_change_its_items(self):
        batch = batch_of({"inputs": 1, "labels": 2, "index": 3})
        self.assertEqual(batch.pop("labels"), 2)
        batch["inputs"] = 5
        del batch["index"]
        self.assertEqual(dict(batch), {"inputs": 5})

    def test_has_its_data_s_attributes(self):
        self.assertEqual(batch_of(Encoding(input_ids=4)).input_ids, 4)
        self.assertEqual(batch_of(Item(torch.ones(2))).count, 3)
        graph = batch_of(Graph(x=1, edge_index=2))
        self.assertEqual((graph.x, (lambda **named: named)(**graph)), (1, {"x": 1, "edge_index": 2}))

    def test_it_can_be_copied(self):
        for data in ((1, 2), {"a": 1}):
            for same in (copy.copy(batch_of(data)), copy.deepcopy(batch_of(data)), pickle.loads(pickle.dumps(batch_of(data)))):
                self.assertEqual((type(same), same.data, same.indices, same.epoch), (type(batch_of(data)), data, [5, 7], 1))

    def test_a_model_of_names_trains(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 2)

            def forward(self, inputs, labels):
                return nn.functional.cross_entropy(self.layer(inputs), labels)

        torch.manual_seed(0)
        rows = torch.randn(64, 3)
        samples = [{"inputs": row, "labels": int(row.sum() > 0)} for row in rows]
        model, losses = Model(), []
        with paceline.worker(model, torch.optim.SGD(model.parameters(), lr=0.5), epochs=5) as w:
            for batch in w.data(samples):
                losses.append(w.step(model(**batch.to(w.device))).loss)
        self.assertLess(losses[-1], losses[0])


class MovingTest(unittest.TestCase):
    def assert_moves(self, data, parts_of):
        there = batch_of(data).to("meta").data
        self.assertIs(type(there), type(data))
        for part in parts_of(there):
            self.assertEqual(part.device.type, "meta")
        return there

    def test_all_that_it_holds(self):
        one = torch.ones(2)
        self.assert_moves({"a": [one, (one, "b")]}, lambda data: [data["a"][0], data["a"][1][0]])
        self.assert_moves(collections.OrderedDict(a=one), lambda data: [data["a"]])
        self.assert_moves(collections.UserDict(a=one), lambda data: [data["a"]])
        self.assert_moves(types.MappingProxyType({"a": one}), lambda data: [data["a"]])
        self.assert_moves(Pair(one, [one]), lambda data: [data.y, data.x[0]])
        self.assert_moves(Encoding(input_ids=one), lambda data: [data.input_ids])
        self.assert_moves(pack_sequence([one]), lambda data: [data.data])
        self.assert_moves(InPlace(), lambda data: [data.inner])
        item = self.assert_moves(Item(one, {"a": Item(one)}), lambda data: [data.inputs, data.more["a"].inputs])
        self.assertEqual(item.count, 3)
        default = self.assert_moves(collections.defaultdict(list, a=one), lambda data: [data["a"]])
        self.assertEqual(default["b"], [])
        self.assertEqual(one.device.type, "cpu")

    def test_where_it_was_nothing_changes(self):
        one = torch.ones(2)
        for data in ({"a": one}, collections.UserDict(a=one), collections.defaultdict(list, a=one)):
            batch_of(data).to("meta")
            self.assertIs(data["a"], one)

    def test_what_has_no_place_stays_as_it_is(self):
        data = {"name": "cat", "box": range(2), "kind": Item, "none": None, "bytes": b"x"}
        self.assertEqual(batch_of(data).to("meta").data, data)

    def test_it_waits_where_the_script_wants_that(self):
        seen = []

        class Tensor(torch.Tensor):
            def to(self, device, non_blocking):
                seen.append(non_blocking)
                return self

        data = {"a": torch.ones(1).as_subclass(Tensor)}
        batch_of(data).to("meta")
        batch_of(data).to("meta", non_blocking=False)
        self.assertEqual(seen, [True, False])


if __name__ == "__main__":
    unittest.main()
