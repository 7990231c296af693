// draw.h: the random numbers of a search, by key: the same key gives the same number, on any
// machine, in any order, after any restart. There is no stream, so no position has to be saved.
//
// Role:   pure functions.
// Source: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014),
//         folded over the parts of a key.
// Tests:  tests/common/draw_test.cc
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace dt {

// Turns a counter into well-mixed bits.
constexpr uint64_t SplitMix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Returns 64 bits that depend on the parts of `key` and their order.
uint64_t DrawBits(std::initializer_list<uint64_t> key);
// Returns the same as a number in [0, 1), a multiple of 2^-53.
double DrawUnit(std::initializer_list<uint64_t> key);

// Purpose of a number, so that no two uses share one. The values decide what a seed gives: never
// renumber them.
enum class Purpose : uint64_t { kUniform = 1, kKernel = 2, kValue = 3, kMember = 4 };

struct DrawKey {
  uint64_t seed = 0;           // of the search
  uint32_t configuration = 0;  // from 1
  uint32_t redraw = 0;         // how many earlier draws of this configuration were rejected
};
// Returns a number in [0, 1). `a` and `b` tell apart the draws for one purpose: which candidate,
// which dimension.
double DrawUnit(const DrawKey& key, Purpose purpose, uint64_t a = 0, uint64_t b = 0);

// Hashes a name for use as a part of a key (FNV-1a, 64 bits).
uint64_t DrawName(std::string_view name);

}  // namespace dt
