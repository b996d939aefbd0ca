// write-stranger FILE: writes a stranger's model there, for tests of a cluster.
#include <cstdio>

#include "tests/integration/stranger_model.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write-stranger FILE\n");
    return 2;
  }
  paceline::integration::SaveStranger(argv[1], paceline::integration::kTupleOutput);
  return 0;
}
