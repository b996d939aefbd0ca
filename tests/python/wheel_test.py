"""The wheel needs nothing of the machine that made it, and stands beside another gRPC in one process."""
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from jobs import BIN, JobTest

ROOT = Path(__file__).parents[2]


class WheelTest(JobTest):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.place = Path(scratch.name)
        made = subprocess.run([sys.executable, str(ROOT / "tools" / "wheel"), str(BIN.parent), str(cls.place)],
                              capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr
        cls.wheel = Path(made.stdout.strip())
        with zipfile.ZipFile(cls.wheel) as archive:
            archive.extractall(cls.place / "site")

    def test_it_is_one_for_every_python(self):
        self.assertRegex(self.wheel.name, r"^paceline-[0-9.]+-py3-none-manylinux_2_\d+_x86_64\.whl$")
        self.assertLess(self.wheel.stat().st_size, 20e6)

    def test_its_library_finds_all_others_beside_it(self):
        library = next(self.place.glob("site/paceline/lib/libpaceline_worker.so"))
        said = subprocess.run(["ldd", str(library)], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("not found", said)
        for line in said.splitlines():
            name = line.split()[0]
            if re.match(r"(linux-vdso|/lib64/ld-|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|resolv|z)\.so)", name):
                continue
            self.assertIn(str(self.place), line, "a library of the system's")

    def test_a_script_trains_with_it_while_it_calls_another_grpc(self):
        self.script("""
            from concurrent import futures
            import grpc, torch, paceline
            server = grpc.server(futures.ThreadPoolExecutor(2))
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("a.B", {
                "Echo": grpc.unary_unary_rpc_method_handler(lambda request, context: request)}),))
            port = server.add_insecure_port("127.0.0.1:0")
            server.start()
            echo = grpc.insecure_channel(f"127.0.0.1:{port}").unary_unary("/a.B/Echo")
            x = torch.randn(400, 4); y = (x.sum(1) > 0).long()
            model = torch.nn.Linear(4, 2)
            with paceline.worker(model) as w:
                for batch in w.data((x, y)):
                    assert echo(b"are you there") == b"are you there"
                    w.step(torch.nn.functional.cross_entropy(model(batch.x), batch.y))
            server.stop(None)
            print("imported from", paceline.__file__)
        """)
        environment = {"PYTHONPATH": str(self.place / "site")}
        without = {name: value for name, value in os.environ.items() if name != "PACELINE_WORKER_LIBRARY"}
        os.environ.clear()
        os.environ.update(without)
        ended = self.run_job("spec.network.transport=Sockets", environment=environment, interpreter=[sys.executable])
        self.assert_succeeded(ended)
        self.assertIn(f"imported from {self.place}/site", ended.worker_logs())


if __name__ == "__main__":
    import unittest
    unittest.main()
