// top_keys.h: what a person types in `dtctl top`, and what it changes.
//
// Role:   pure: bytes in, keys out; view and key in, view out.
// Source: ECMA-48 (CSI sequences) and xterm's keys, in both cursor modes.
// Tests:  tests/cli/view/top_keys_test.cc
#pragma once

#include <string>
#include <vector>

#include "cli/view/top_view.h"

namespace dt::cli {

struct Key {
  enum class Kind {
    kCharacter,
    kUp,
    kDown,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kTab,
    kEnter,
    kEscape,
    kBackspace,
    kInterrupt,  // Ctrl-C
    kSuspend,    // Ctrl-Z
    kRedraw,     // Ctrl-L
  };
  Kind kind = Kind::kCharacter;
  std::string text = {};  // of kCharacter, in UTF-8
  bool operator==(const Key&) const = default;
};

// Whether more bytes may come at once: the Escape key sends the byte that sequences begin with.
enum class More { kMayCome, kNone };
// Takes every whole key from the front of `bytes`. What it does not know it drops.
std::vector<Key> TakeKeys(std::string& bytes, More more);

// What is to be done besides drawing the view.
enum class Act { kNone, kQuit, kInterrupt, kSuspend, kRedraw };
struct Pressed {
  TopView view;
  Act act = Act::kNone;
};
// `frame` is what the person sees; scrolling ends where its rows end.
Pressed Press(TopView view, const Key& key, const TopFrame& frame);

}  // namespace dt::cli
