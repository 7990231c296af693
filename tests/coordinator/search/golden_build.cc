// golden_build.cc: the search as one unit, built with another compiler or other flags than the
// rest. Prints golden.txt's lines; with a file to compare, exits 1 if they differ.
//
// usage: golden_… SEEDS [golden.txt]
//
// Includes sources, so that a build reads the messages' headers once.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "bench/search/problems.cc"
#include "common/draw.cc"
#include "common/normal.cc"
#include "coordinator/search/front.cc"
#include "coordinator/search/history.cc"
#include "coordinator/search/parzen.cc"
#include "coordinator/search/searcher.cc"
#include "coordinator/search/tpe.cc"
#include "spec/space.cc"
#include "tests/coordinator/search/golden.cc"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string lines = dt::search::testing::GoldenLines(std::strtoull(argv[1], nullptr, 10));
  if (argc == 2) {
    std::cout << lines;
    return 0;
  }
  std::ifstream file(argv[2]);
  std::stringstream golden;
  golden << file.rdbuf();
  std::istringstream each(lines);
  for (std::string line; std::getline(each, line);) {
    if (golden.str().find(line + "\n") != std::string::npos) continue;
    std::cerr << argv[2] << " has no line '" << line
              << "' (problem, seed, hash of its proposals)\n";
    return 1;
  }
  return 0;
}
