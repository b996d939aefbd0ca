"""What goes wrong in a script has a clear end."""
import os
import signal
import sys
import unittest

from jobs import JobTest

BEGIN = """
    import fcntl, torch, paceline
    torch.manual_seed(0)
    x = torch.randn(400, 4); y = (x.sum(1) > 0).long()
    model = torch.nn.Linear(4, 2)
    def loss_of(batch): return torch.nn.functional.cross_entropy(model(batch.x), batch.y)
    def wait_at(gate):  # Until the test opens it.
        with open(gate) as file: fcntl.flock(file, fcntl.LOCK_SH)
"""


class TroubleTest(JobTest):
    def fails(self, text, *overrides, **options):
        self.script(BEGIN + text)
        ended = self.run_job("spec.runPolicy.backoffLimit=0", *overrides, **options)
        self.assertNotEqual(ended.code, 0, ended.words())
        return ended

    def test_a_step_that_raises_is_named(self):
        ended = self.fails("""
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            raise KeyError("columns")
        """)
        self.assertIn("KeyError: 'columns' (train.py, line", ended.err)

    def test_a_script_that_does_not_come_to_its_worker_is_told_by_its_last_line(self):
        self.script("import no_such_module")
        ended = self.run_job("spec.runPolicy.backoffLimit=0", interpreter=[sys.executable])
        self.assertNotEqual(ended.code, 0)
        self.assertIn("ModuleNotFoundError: No module named 'no_such_module'", ended.err)

    def test_a_forgotten_step(self):
        ended = self.fails("""
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            loss_of(batch)
        """)
        self.assertIn("had no w.step(loss): one step for each batch", ended.err)

    def test_a_model_that_moved_in_mid_run(self):
        ended = self.fails("""
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            loss = loss_of(batch)
            model.half()
            w.step(loss)
        """)
        self.assertIn("weight does not lie any more where paceline.worker put it", ended.err)

    def test_a_gpu_that_is_wanted_and_not_there(self):
        for how, words in (("model.to(paceline.device())", "the job wants a GPU .* torch.cuda.is_available.*; the machines of 1 of 1 workers cannot do the work"),
                           ("pass", "the job wants a GPU .* the model lies on the CPU.*; starting it again is of no use")):
            ended = self.fails(f"""
    {how}
    with paceline.worker(model) as w:
        for batch in w.data((x, y)): w.step(loss_of(batch))
            """, "spec.workers.device=CUDA", workers=1)
            self.assertRegex(ended.err, words)

    def test_models_that_differ(self):
        ended = self.fails("""
    import os
    model = torch.nn.Linear(4, 2 + int(os.environ["PACELINE_INDEX"]))
    with paceline.worker(model) as w:
        for batch in w.data((x, y)): w.step(loss_of(batch))
        """)
        self.assertIn("weight has shape", ended.err)

    def test_a_loss_of_another_model(self):
        ended = self.fails("""
    other = torch.nn.Linear(4, 2)
    with paceline.worker(model) as w:
        for batch in w.data((x, y)): w.step(other(batch.x).sum())
        """)
        self.assertIn("the loss does not depend on the model", ended.err)

    def goes_on_unjudged(self, text, words):
        """As for any evaluator that fails: the job says so, and trains."""
        self.script(BEGIN + text)
        ended = self.run_job("spec.runPolicy.backoffLimit=0", evaluator=True)
        self.assertIsNone(self.assert_succeeded(ended)["accuracy"])
        self.assertRegex(ended.err, "training goes on without evaluations: mine-evaluator: .*" + words)

    def test_an_evaluator_without_an_evaluation(self):
        self.goes_on_unjudged("""
    with paceline.worker(model) as w:
        for batch in w.data((x, y)): w.step(loss_of(batch))
        """, "never calls w.evaluate")

    def test_an_evaluation_that_raises(self):
        self.goes_on_unjudged("""
    with paceline.worker(model) as w:
        for batch in w.data((x, y)): w.step(loss_of(batch))
        w.evaluate(lambda: 1 / 0)
        """, r"ZeroDivisionError: division by zero \(train.py, line")

    def test_a_child_has_no_part_in_the_job(self):
        self.script(BEGIN + """
    import os
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            loss = loss_of(batch)
            child = os.fork()
            if child == 0:
                try:
                    w.step(loss)
                except paceline.Misuse as error:
                    os._exit(7 if "belongs to the process that made it" in str(error) else 8)
                os._exit(9)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            w.step(loss)
        """)
        self.assert_succeeded(self.run_job("spec.training.stop={maxSteps: 5}"))

    def test_unused_parameters_and_zero_grad_do_no_harm(self):
        self.script(BEGIN + """
    model.extra = torch.nn.Linear(3, 3)
    before = model.extra.weight.clone()
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            model.zero_grad(set_to_none=True)
            w.step(loss_of(batch))
        assert torch.equal(model.extra.weight, before)
        """)
        self.assert_succeeded(self.run_job())

    def test_without_a_job_it_says_how_to_start_one(self):
        import paceline
        import torch
        with self.assertRaisesRegex(paceline.NoJob, "paceline run"):
            paceline.worker(torch.nn.Linear(1, 1))

    def test_a_sample_that_ends_every_script_is_found_and_left_out(self):
        self.script(BEGIN + """
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            if 17 in batch.indices: raise ValueError("no good")
            w.step(loss_of(batch))
        """)
        ended = self.run_job("spec.training.stop={maxEpochs: 1}", "spec.training.globalBatchSize=8")
        self.assert_succeeded(ended)
        self.assertIn("made two workers ill, or ended them: sample 17 (position ", ended.err)

    def test_an_evaluator_may_come_to_its_data_too(self):
        self.script(BEGIN + """
    with paceline.worker(model) as w:
        w.evaluate(lambda: loss_of((x, y)))
        for batch in w.data((x, y)): w.step(loss_of(batch))
        """.replace("loss_of((x, y))", "torch.nn.functional.cross_entropy(model(x), y)"))
        ended = self.run_job(evaluator=True)
        self.assert_succeeded(ended)
        self.assertNotIn("Traceback", ended.worker_logs())

    def test_an_error_of_torchscript_is_told_by_what_it_was(self):
        ended = self.fails("""
    @torch.jit.script
    def check(x: torch.Tensor) -> torch.Tensor:
        assert x.size(0) < 2, "a batch too large"
        return x
    with paceline.worker(model) as w:
        for batch in w.data((x, y)): check(batch.x)
        """)
        self.assertIn("a batch too large", ended.err)

    def runs_out_of_memory(self, step):
        """Where a batch has more than 10 samples; the job wants 16 of each worker."""
        self.script(BEGIN + """
    def hungry(batch):
        if len(batch) > 10: raise torch.OutOfMemoryError("CUDA out of memory")
        return loss_of(batch)
    def at_last(batch):
        w.accumulate(lambda: hungry(batch) / 2)
        if len(batch) > 10: w.accumulate(lambda: 1 / 0)  # Nobody wants it.
        return w.step(loss_of(batch) / 2)
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            step = """ + step + """
            assert step.given_up == (len(batch) > 10), step
        """)
        ended = self.run_job("spec.sync.batchSizing.strategy=EMA")
        self.assert_succeeded(ended)
        self.assertIn("out of memory", ended.worker_logs())

    def test_out_of_memory_in_a_forward_pass(self):
        self.runs_out_of_memory("w.step(lambda: hungry(batch))")

    def test_out_of_memory_in_a_part_of_a_batch(self):
        self.runs_out_of_memory("at_last(batch)")

    def test_a_killed_worker_comes_back_and_the_ledger_is_exact(self):
        self.script(BEGIN + """
    with paceline.worker(model) as w:
        for number, batch in enumerate(w.data((x, y))):
            if number == 3: wait_at("gate")
            w.step(loss_of(batch))
        """)
        gate = self.closed_gate("gate")  # The job cannot be over before both have been killed.
        running = self.start("spec.training.stop={maxEpochs: 4}")
        for index in (0, 1):
            worker = running.wait_for(lambda: running.workers().get(index))
            running.wait_for(lambda: any("bytes travel" in text for name, text in self.logs().items()
                                         if f"worker-{index}" in name))
            os.kill(worker, signal.SIGKILL)
            running.wait_for(lambda: running.workers().get(index) not in (None, worker))
        gate.close()
        ended = running.wait()
        self.assert_succeeded(ended)
        self.assert_every_sample_once(ended, epochs=4)

    def test_a_worker_is_its_whole_tree(self):
        """A shell that pipes, and children of the script, as a DataLoader's would be: they have its connections, and outlive it."""
        self.script(BEGIN + """
    import os, subprocess
    from torch.utils.data import DataLoader, TensorDataset
    other = iter(DataLoader(TensorDataset(x, y), num_workers=2, batch_size=1))
    next(other)
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    with paceline.worker(model) as w:
        for number, batch in enumerate(w.data((x, y))):
            if number < 3 and os.fork() == 0:
                wait_at("end")
                os._exit(0)
            if number == 3: wait_at("gate")
            w.step(loss_of(batch))
        """)
        gate = self.closed_gate("gate")
        self.closed_gate("end")  # So long would the children live.
        running = self.start("spec.training.stop={maxEpochs: 4}", interpreter=("sh", "-c", '"$0" "$@" | cat', sys.executable))
        shell = running.wait_for(lambda: running.workers().get(0))
        running.wait_for(lambda: any("bytes travel" in text for name, text in self.logs().items() if "worker-0" in name))
        os.kill(shell, signal.SIGKILL)
        running.wait_for(lambda: running.workers().get(0) not in (None, shell))
        self.assertEqual([pid for pid, _, _, environment in running.processes()
                          if environment["PACELINE_INDEX"] == "0" and environment["PACELINE_ATTEMPT"] == "0"], [], "its first life is over")
        gate.close()
        ended = running.wait()
        self.assert_succeeded(ended)
        self.assert_every_sample_once(ended, epochs=4)
        self.assertEqual(running.processes(), [], "nothing outlives the job")

    def logs(self):
        return {path.stem: path.read_text(errors="replace") for path in self.folder.rglob("*.log")}

    def test_what_comes_behind_the_loop_is_done_though_the_job_is_over(self):
        self.script(BEGIN + """
    import os, signal
    with paceline.worker(model) as w:
        for batch in w.data((x, y)): w.step(loss_of(batch))
    os.kill(os.getpid(), signal.SIGTERM)  # As whoever ends the job does, at this moment or another.
    open(f"behind-{w.index}", "w").close()
        """)
        self.assert_succeeded(self.run_job(interpreter=[sys.executable]))
        self.assertTrue((self.folder / "behind-0").exists() and (self.folder / "behind-1").exists())

    def test_an_interrupted_job_leaves_in_good_order(self):
        self.script(BEGIN + """
    with paceline.worker(model) as w:
        for batch in w.data((x, y)): w.step(loss_of(batch))
    print("after the loop", w.draining)
        """)
        running = self.start("spec.training.stop={maxEpochs: 100000}")
        running.wait_for(lambda: len(running.workers()) == 2 and
                         sum("bytes travel" in text for text in self.logs().values()) == 2)
        running.process.send_signal(signal.SIGINT)
        ended = running.wait()
        self.assertIn("after the loop True", ended.worker_logs(), ended.words())
        self.assertNotIn("Traceback", ended.worker_logs())


if __name__ == "__main__":
    unittest.main()
