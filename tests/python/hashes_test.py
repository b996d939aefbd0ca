"""Sets of texts have one order in all scripts of a job."""
import sys
import unittest

from jobs import JobTest

ORDER = """
    import fcntl, os
    name = f'{os.environ["PACELINE_ROLE"]}-{os.environ["PACELINE_INDEX"]}'
    with open(name + ".part", "w") as file: file.write("".join({chr(ord("a") + i) for i in range(26)}))
    os.rename(name + ".part", name + ".order")
    with open("gate") as file: fcntl.flock(file, fcntl.LOCK_SH)
"""


class HashesTest(JobTest):
    def orders(self, *overrides, **options):
        self.script(ORDER)
        self.closed_gate("gate")
        for path in self.folder.glob("*.order"):
            path.unlink()
        running = self.start(*overrides, workers=3, evaluator=True, interpreter=[sys.executable], **options)
        running.wait_for(lambda: len(list(self.folder.glob("*.order"))) == 4)
        return {path.stem: path.read_text() for path in self.folder.glob("*.order")}

    def test_they_agree(self):
        self.assertEqual(len(set(self.orders().values())), 1)

    def test_what_the_user_says_stays(self):
        found = self.orders("spec.workers.template={spec: {containers: [{name: worker, env: [{name: PYTHONHASHSEED, value: '7'}]}]}}",
                            environment={"PYTHONHASHSEED": "11"})
        evaluators = found.pop("evaluator-0")
        self.assertEqual(len(set(found.values())), 1)
        self.assertNotEqual(found["worker-0"], evaluators)


if __name__ == "__main__":
    unittest.main()
