// torch_choice.h: which trainer goes with the PyTorch that is installed.
//
// Role:    a trainer works with one minor version of LibTorch. Packages with static programs have
//          a `dttrain-2.N` for each version that they support, and a `dttrain` that starts the
//          right one (main.cc).
// Threads: any; reads a few small files.
// Errors:  a choice without a program has a fault, with the fix.
// Tests:   tests/worker/starter/torch_choice_test.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "worker/starter/install_form.h"

namespace dt {

// A PyTorch, or a LibTorch, on this host.
struct Torch {
  std::string folder;                  // holds torch/ and, with wheels of CUDA's libraries, nvidia/
  std::string version;                 // such as 2.11.0+cu130
  std::vector<std::string> libraries;  // folders that its libraries are in
};

// The places where a PyTorch is searched, in this order.
struct TorchPlaces {
  std::string only;                   // $DTRAIN_LIBTORCH; unless empty, no other place is searched
  std::vector<std::string> prefixes;  // the folder above bin/, and those of active environments
};

struct TrainerChoice {
  std::string program;
  std::string library_path;  // folders for the loader, with colons between them
  std::string fault;         // why there is no program, and the fix
};

// Returns the version in the text of a torch/version.py; "" if it has none.
std::string VersionIn(std::string_view version_py);

// Returns "2.11" of "2.11.0+cu130"; "" for text of another form.
std::string MinorOf(std::string_view version);

// Chooses the first PyTorch of a version that a trainer beside `starter` supports. `minors` are the
// versions of these trainers, in ascending order. Asks for `facts` only if it chooses none.
TrainerChoice ChooseTrainer(const std::string& starter, const std::vector<std::string>& minors,
                            const std::vector<Torch>& installed, const TorchPlaces& places,
                            absl::FunctionRef<InstallFacts()> facts);

// Returns the versions of the trainers STARTER-2.N, in ascending order.
std::vector<std::string> TrainersBeside(const std::string& starter);

// Returns the places for a starter with this path, with the variables of this process.
TorchPlaces PlacesFor(const std::string& starter);

// Returns each PyTorch in these places, in their order.
std::vector<Torch> InstalledTorches(const TorchPlaces& places);

// Chooses the trainer that the program at `path` starts. nullopt: no STARTER-2.N is beside it, so
// it is a trainer itself, or something else.
std::optional<TrainerChoice> TrainerStartedBy(const std::string& path);

// Returns the value of LD_LIBRARY_PATH for the chosen trainer: its folders, and then those of this
// process.
std::string LibraryPathFor(const TrainerChoice& choice);

}  // namespace dt
