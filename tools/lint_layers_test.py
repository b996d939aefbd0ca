#!/usr/bin/env python3
"""Plants violations in a small tree and asks whether tools/lint_layers.py finds each of them, and nothing else."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import lint_layers  # noqa: E402

LAYERS = """
# floor  target  folder  purity  may use
0 base       lib/base       pure -
1 sync       lib/sync       pure base
1 telemetry  lib/telemetry  live base
1 proto      proto          live -
2 store      lib/store      live base
3 learn      lib/learn      live base store
5 worker_loop worker/loop   live base store
5 driver     server/driver  live base sync store
7 worker     worker         live base worker_loop
7 server     server         live base driver
"""


class Planted(unittest.TestCase):
    def findings(self, **files):
        """`files`: path (with __ for / and _dot_ for .) to text."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "tools").mkdir()
            (root / "tools/layers.txt").write_text(LAYERS)
            for path, text in files.items():
                file = root / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return list(lint_layers.check_tree(root))

    def check(self, path, text, *wanted):
        found = self.findings(**{path: text})
        self.assertEqual(len(found), len(wanted), found)
        for finding, want in zip(found, wanted):
            self.assertIn(want, finding)
            self.assertTrue(finding.startswith(f"{path}:"), finding)

    def test_listed_edges_pass(self):
        self.check("lib/sync/a.cc", '#include "lib/sync/a.h"\n#include "lib/base/status.h"\n#include <vector>\n')

    def test_unlisted_edge_names_line_and_choices(self):
        self.check("lib/sync/a.cc", '#include <vector>\n\n#include "lib/store/shard.h"\n',
                   'lib/sync/a.cc:3: "lib/store/shard.h" is of store; sync may use: base')

    def test_what_a_used_target_uses_is_not_listed(self):
        self.check("worker/main.cc", '#include "lib/store/shard.h"\n', "worker may use: base worker_loop")

    def test_the_longest_folder_owns_a_file(self):
        self.check("worker/loop/loop.cc", '#include "lib/store/shard.h"\n')
        self.check("worker/main.cc", '#include "worker/loop/loop.h"\n')

    def test_a_folder_does_not_use_the_one_above(self):
        self.check("worker/loop/loop.cc", '#include "worker/options.h"\n', "is of worker; worker_loop may use")

    def test_programs_never_use_one_another(self):
        self.check("worker/loop/loop.cc", '#include "server/driver/driver.h"\n', "never use one another")
        self.check("worker/loop/loop_test.cc", '#include "server/driver/driver.h"\n', "never use one another")

    def test_tests_may_look_lower(self):
        self.check("lib/learn/a_test.cc", '#include "lib/telemetry/log.h"\n')
        self.check("lib/learn/testing/fake.h", '#include "lib/sync/contract/policy.h"\n')

    def test_tests_may_not_look_higher_or_beside(self):
        self.check("lib/sync/a_test.cc", '#include "lib/store/shard.h"\n', "is of store")
        self.check("lib/sync/a_test.cc", '#include "lib/telemetry/log.h"\n', "is of telemetry")

    def test_includes_are_relative_to_the_repository(self):
        self.check("lib/sync/a.cc", '#include "policy.h"\n', "relative to the repository")
        self.check("lib/sync/a.cc", '#include "lib/nowhere/a.h"\n', "no target")

    def test_only_tests_include_tests(self):
        self.check("lib/sync/a_test.cc", '#include "tests/explore/walk.h"\n', "only tests/ includes tests/")

    def test_generated_code_is_of_proto(self):
        self.check("lib/store/a.cc", '#include "paceline/v1/chunk.pb.h"\n', "is of proto")

    def test_a_folder_without_a_target_is_found(self):
        self.check("lib/stray/a.h", "", "no target")

    def test_walls_around_third_party_headers(self):
        self.check("lib/learn/a.cc", "#include <torch/script.h>\n")
        self.check("lib/store/a.cc", "#include <ATen/ATen.h>\n", "stays inside: learn")
        self.check("server/driver/a.cc", "#include <grpcpp/server.h>\n", "stays inside: proto ps_service rpc")
        self.check("lib/sync/a.cc", "#include <absl/strings/str_cat.h>\n", "stays inside: base")

    def test_commented_includes_do_not_count(self):
        self.check("lib/sync/a.cc", '// #include "lib/store/shard.h"\n/*\n#include "lib/store/shard.h"\n*/\n')

    def test_banned_words_in_pure_folders(self):
        for code in ("auto t = std::chrono::steady_clock::now();", "Clock::now ()", "std::mutex m;", "std::thread t;",
                     "std::atomic<int> n;", "std::lock_guard g(m);", "thread_local int n;", 'getenv("HOME");',
                     "std::unordered_map<int, int> m;", "std::normal_distribution<double> d;",
                     "std::uniform_int_distribution<> d;", "std::random_device r;", "std::shuffle(a, b, c);",
                     "#include <fstream>", "#include <iostream>", "#include <filesystem>", "#include <thread>",
                     'std::cerr << "x";', 'fopen("a", "r");'):
            with self.subTest(code):
                found = self.findings(**{"lib/sync/a.cc": f"\n{code}\n"})
                self.assertTrue(found, code)
                self.assertTrue(all(f.startswith("lib/sync/a.cc:2: sync is pure") for f in found), found)

    def test_live_folders_and_tests_may_use_them(self):
        code = "#include <thread>\nstd::mutex m; auto t = std::chrono::steady_clock::now();\n"
        self.check("lib/store/a.cc", code)
        self.check("lib/sync/a_test.cc", code)

    def test_comments_and_strings_are_no_code(self):
        self.check("lib/sync/a.cc", '// no std::thread here\nconst char* kWhy = "std::mutex"; /* getenv( */\n'
                                    'const char* kRaw = R"(std::thread)";\n')

    def test_words_that_only_look_alike(self):
        self.check("lib/sync/a.cc", "operand(1); strand(2); Time now; bool threads = true; int atomic_steps = 0;\n")

    def test_what_git_does_not_track_breaks_no_rule(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path, text in {"tools/layers.txt": LAYERS, "lib/sync/a.cc": "std::mutex m;\n"}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            subprocess.run(["git", "-C", root, "init", "--quiet"], check=True)
            self.assertEqual(list(lint_layers.check_tree(root)), [])
            subprocess.run(["git", "-C", root, "add", "--all"], check=True)
            self.assertEqual(len(list(lint_layers.check_tree(root))), 1)


if __name__ == "__main__":
    unittest.main()
