#!/usr/bin/env python3
"""Are simulated lives the same, byte by byte, whoever compiled the simulator?

    tests/identity/compare.py [--builds 'g++ -O0,clang++ -O3'] [--jobs 2] [--keep build/identity]

Builds the simulator without LibTorch with g++ and clang++, without and with optimisation, plays the scenarios of the tree
whose objective is a formula (each arm and seed, all that its policy met and decided), and compares. Ends with 1 where
something differs. Half an hour of two cores with nothing cached.
"""
import argparse
import hashlib
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILDS = {
    "g++ -O0": ("gcc", "g++", "-O0"),
    "g++ -O3": ("gcc", "g++", "-O3"),
    "clang++ -O0": ("clang-14", "clang++-14", "-O0"),
    "clang++ -O3": ("clang-14", "clang++-14", "-O3"),
}


def built(name, folder, jobs):
    c, cxx, level = BUILDS[name]
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DPACELINE_COMPONENTS=sim_scenario;sim_report", "-DPACELINE_TESTS=OFF",
                    "-DPACELINE_BENCHMARKS=OFF", "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cxx}",
                    f"-DCMAKE_CXX_FLAGS={level}"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "-j", str(jobs), "--target", "lives"], check=True, stdout=subprocess.DEVNULL)
    return folder / "bin" / "lives"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builds", type=lambda text: text.split(","), default=list(BUILDS), help=f"of {', '.join(BUILDS)}")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", default="build/identity")
    flags = parser.parse_args()
    if len(set(flags.builds) & set(BUILDS)) < 2 or set(flags.builds) - set(BUILDS):
        parser.error(f"--builds must name two or more of {', '.join(BUILDS)}: got {', '.join(flags.builds)}")
    scenarios = [path for path in sorted((ROOT / "simulator" / "scenarios").glob("*.yaml")) if "model:" not in path.read_text(encoding="utf-8")]
    seen = {}
    for name in flags.builds:
        _, cxx, level = BUILDS[name]
        if shutil.which(cxx) is None:
            sys.exit(f"{cxx} is not installed: apt-get install {cxx.replace('++', '')}")
        program = built(name, (ROOT / flags.keep / (cxx + level)).resolve(), flags.jobs)
        for scenario in scenarios:
            told = subprocess.run([program, scenario], check=True, capture_output=True).stdout
            seen.setdefault(scenario.name, {})[name] = (len(told), hashlib.sha256(told).hexdigest())
    differ = 0
    for scenario, of_build in seen.items():
        is_same = len(set(of_build.values())) == 1
        differ += not is_same
        print(f"{scenario}: {'the same' if is_same else 'DIFFERS'}")
        for name, (size, digest) in of_build.items():
            print(f"  {name:<12} {size:>9} bytes  {digest[:16]}")
    sys.exit(1 if differ or not seen else 0)


if __name__ == "__main__":
    main()
