"""What a script does between its steps is its own time; a step that hangs is one."""
import unittest

from jobs import JobTest

BEGIN = """
    import os, time, torch, paceline
    torch.manual_seed(0)
    x = torch.randn(320, 4); y = (x.sum(1) > 0).long()
    def busy(seconds): time.sleep(seconds)  # sleeps: it stands for what scripts do between steps, and for a step that hangs
    first = os.environ["PACELINE_INDEX"] == "0" and os.environ["PACELINE_ATTEMPT"] == "0"
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 2)
        def forward(self, x):
            if HANGS and first and self.training and torch.is_grad_enabled(): busy(60)
            return self.layer(x)
    HANGS = False
    model = Model()
    def step(w, batch): w.step(torch.nn.functional.cross_entropy(model(batch.x), batch.y))
"""
BUSY = """
    with paceline.worker(model) as w:
        for number, batch in enumerate(w.data((x, y))):
            if first and number == 2: busy(SECONDS)
            step(w, batch)
"""
QUICK = "spec.workers.stragglerPolicy.firstStepSeconds=2"


class PauseTest(JobTest):
    def ends(self, text, *overrides):
        self.script(BEGIN + text)
        return self.run_job("spec.training.globalBatchSize=32", "spec.training.stop={maxEpochs: 2}", *overrides)

    def assert_expelled(self, ended, why):
        self.assertEqual(self.assert_succeeded(ended)["expulsions"], 1, ended.words())
        self.assertIn(why, "".join(ended.logs().values()))

    def test_a_pause_before_a_step_expels_nobody(self):
        """Of a first step, whose limit alone can be set to seconds: an evaluation between the batch and the forward pass."""
        ended = self.ends("""
    with paceline.worker(model) as w:
        for number, batch in enumerate(w.data((x, y))):
            if first and number == 0:
                with torch.no_grad(): model(x)
                busy(6)
            step(w, batch)
        """, QUICK)
        summary = self.assert_succeeded(ended)
        self.assertEqual(summary["expulsions"], 0, ended.words())

    def test_a_forward_pass_that_hangs_is_a_step(self):
        ended = self.ends("""
    HANGS = True
    with paceline.worker(model) as w:
        for batch in w.data((x, y)): step(w, batch)
        """, QUICK)
        self.assert_expelled(ended, "its step hangs: no progress for")

    def test_a_script_that_never_comes_back_is_replaced(self):
        ended = self.ends(BUSY.replace("SECONDS", "60"), "spec.workers.stragglerPolicy.userCodeSeconds=2")
        self.assert_expelled(ended, "its script, between two steps, hangs: no progress for")

    def test_others_are_told_whom_they_wait_for(self):
        ended = self.ends(BUSY.replace("SECONDS", "13"))
        self.assert_succeeded(ended)
        self.assertIn("others wait for w0, whose script has been busy between two steps for over 10 s", ended.err)


if __name__ == "__main__":
    unittest.main()
