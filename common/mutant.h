// mutant.h: faults planted in the code, to prove that the simulator finds each of them.
//
// Role:    `if (Mutated(Mutant::kX))` is where a fault of that kind would be. Builds with tests
//          define DTRAIN_MUTANTS and choose one at run time; in all others the condition is
//          constantly false.
// Threads: chosen once, before any other thread begins.
// Tests:   tests/sim/mutant_test.cc
#pragma once

#include <array>
#include <string_view>

namespace dt {

enum class Mutant {
#define DT_MUTANT(enumerator, name) enumerator,
#include "common/mutants.inc"
#undef DT_MUTANT
};

// Names on the command line, in the order of the enumerators.
inline constexpr auto kMutantNames = std::to_array<std::string_view>({
#define DT_MUTANT(enumerator, name) name,
#include "common/mutants.inc"
#undef DT_MUTANT
});

#ifdef DTRAIN_MUTANTS
inline Mutant planted_mutant = Mutant::kNone;
inline bool Mutated(Mutant which) { return planted_mutant == which; }
#else
constexpr bool Mutated(Mutant) { return false; }
#endif

}  // namespace dt
