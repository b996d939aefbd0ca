"""A bug in a script is no sick sample: the job ends, and says it in the script's own words."""
import json
import unittest

import torch

from jobs import JobTest
from paceline._cause import cause_of, place_of, whole_words_of

BEGIN = """
    import os, time, torch, paceline
    torch.manual_seed(0)
    x = torch.randn(400, 4); y = (x.sum(1) > 0).long()
    model = torch.nn.Linear(4, 2)
    def loss_of(batch): return torch.nn.functional.cross_entropy(model(batch.x), batch.y)
"""


class BugTest(JobTest):
    def ends(self, text, *overrides, **options):
        self.script(BEGIN + text)
        return self.run_job("spec.training.globalBatchSize=8", *overrides, **options)

    def starts(self, ended):
        """How often each worker's script was started."""
        return [log.count("STARTED") for name, log in ended.logs().items() if "-worker-" in name]

    def assert_ends_as_a_bug(self, ended, words):
        self.assertEqual(ended.code, 1, ended.words())
        self.assertIn(words, ended.err)
        self.assertLessEqual(max(self.starts(ended)), 2, ended.words())
        self.assertNotIn("left out", ended.err)

    def test_a_step_that_fails_on_any_samples(self):
        for workers in (1, 2):
            ended = self.ends("""
    print("STARTED", flush=True)
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            raise TypeError("forward() takes 2 positional arguments\\nbut 3 were given")
        """, workers=workers)
            self.assert_ends_as_a_bug(ended, "TypeError: forward() takes 2 positional arguments\nbut 3 were given (train.py, line")

    def test_a_script_that_cannot_import_what_it_names(self):
        ended = self.ends("""
    print("STARTED", flush=True)
    import tochvision
        """)
        self.assert_ends_as_a_bug(ended, "ModuleNotFoundError: No module named 'tochvision' (train.py, line 9); starting it again is of no use")

    def test_a_data_set_that_fails_on_any_samples(self):
        for loader in ("Rows()", "torch.utils.data.DataLoader(Rows(), batch_size=8, num_workers=1)"):
            ended = self.ends(f"""
    print("STARTED", flush=True)
    class Rows(torch.utils.data.Dataset):
        def __len__(self): return len(x)
        def __getitem__(self, i): return {{"x": x[i], "y": y[i]}}["no such column"]
    with paceline.worker(model) as w:
        for batch in w.data({loader}): w.step(loss_of(batch))
        """)
            self.assert_ends_as_a_bug(ended, "KeyError: 'no such column' (train.py, line")

    def test_two_samples_that_raise_the_same_are_both_left_out(self):
        ended = self.ends("""
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            if {17, 230} & set(batch.indices): raise ValueError("broken image")
            w.step(loss_of(batch))
        """, "spec.training.stop={maxEpochs: 2}")
        self.assertEqual(self.assert_succeeded(ended)["poisonedSamples"], 2)

    def test_a_machine_that_fails_on_any_samples_is_tried_again(self):
        ended = self.ends("""
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            if os.environ["PACELINE_ATTEMPT"] == "0": raise ConnectionError("the store does not answer")
            w.step(loss_of(batch))
        """, "spec.training.stop={maxEpochs: 1}")
        self.assert_succeeded(ended)


class CauseTest(unittest.TestCase):
    def raised(self, function):
        try:
            function()
        except Exception as error:
            return error

    def test_the_words_do_not_count_but_type_and_place_do(self):
        def fail(with_what): raise with_what
        one, two, three = (self.raised(lambda: fail(error)) for error in (KeyError("a"), KeyError("b"), IndexError("a")))
        self.assertEqual(cause_of(one), cause_of(two))
        self.assertNotEqual(cause_of(one), cause_of(three))
        self.assertNotEqual(cause_of(one), cause_of(self.raised(lambda: {}["a"])))
        self.assertRegex(cause_of(one), r"^KeyError, bug_test.py, line \d+$")

    def test_what_may_be_over_by_the_next_time_has_none(self):
        def fail(with_what): raise with_what
        for error in (ConnectionError(), TimeoutError(), OSError("no space left"), KeyError()):
            self.assertEqual(cause_of(self.raised(lambda: fail(error))) == "", not isinstance(error, KeyError), repr(error))
        self.assertRegex(cause_of(self.raised(lambda: open("/no/such/file"))), "^FileNotFoundError, ")

    def test_the_place_is_the_scripts_own(self):
        layer = torch.nn.Linear(2, 2)
        for function in (lambda: layer(torch.zeros(3)), lambda: json.loads("{")):
            error = self.raised(function)
            self.assertEqual(place_of(error).file, "bug_test.py", repr(error))
        self.assertEqual(place_of(self.raised(json.loads)).file, "bug_test.py")

    def test_one_of_a_worker_of_a_loader_is_where_that_raised_it(self):
        error = ValueError("Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
                           '  File "/lib/fetch.py", line 52, in fetch\n    data = x\n  File "/mine/train.py", line 7, in __getitem__\n    y\n'
                           "ValueError: two\nlines\n")
        error = self.raised(lambda: (_ for _ in ()).throw(error))
        self.assertEqual(str(place_of(error)), "train.py, line 7")

    def test_all_lines_are_said(self):
        self.assertEqual(whole_words_of(ValueError("a\n  b\nc")), "ValueError: a\n  b\nc")
        self.assertEqual(whole_words_of(ValueError()), "ValueError")
        caught = ValueError("Caught ValueError in DataLoader worker process 0.\nOriginal Traceback:\n  File \"x.py\", line 1, in f\nValueError: a\nb")
        self.assertEqual(whole_words_of(caught), "ValueError: a\nb")


if __name__ == "__main__":
    unittest.main()
