// flags.h: the command line of dtworker.
//
// Role: the flags and their help texts; main.cc checks them together.
#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/net/credentials.h"

namespace dt {

struct Flags {
  std::string coordinator = "127.0.0.1:7600";
  std::string name;
  std::string slot = "cpu";
  bool all = false;
  std::string data_root = ".";
  std::string storage;
  std::string data_address = "127.0.0.1";
  std::string run_dir;
  std::string alive_file;
  int threads = 0;
  int slots = 0;
  std::string memory_limit;
  std::string idle_timeout;
  std::string disconnect_grace = "30m";
  std::string trainer;
  std::string program_runner;
  std::string programs;
  std::vector<std::string> program_variables;
  std::string environments;
  std::string environments_folder;
  std::string environments_size = "20G";
  std::vector<std::string> container_folders;
  std::vector<std::string> labels;
  TlsFiles tls;
  std::string token_file;
  std::string join_token_file;
  pid_t exit_with_parent = 0;  // the supervisor that started this process
};

void DescribeFlags(CLI::App& app, Flags& flags);

}  // namespace dt
