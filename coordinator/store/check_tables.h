// check_tables.h: whether the tables of a journal are whole, in whichever database: its records'
// chain, its rows' checksums and their sums.
//
// Threads:   thread-compatible. REQUIRES: nobody writes to the journal meanwhile.
// Errors:    what hinders the check itself; damage is a finding.
// Tests:     tests/coordinator/store/damage_test.cc, store_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/head.h"
#include "coordinator/store/schema.h"
#include "coordinator/store/sql.h"

namespace dt {

struct JournalReport {
  int64_t schema = 0;   // 0: there is no journal, and nobody was promised one
  bool in_use = false;  // the last coordinator did not stop cleanly
  bool marked = false;  // there is a mark to hold it against
  std::optional<Head> head;
  int64_t records = 0;
  std::array<int64_t, kSides> rows = {};
  std::vector<std::string> damage;  // empty: whole, as far as was looked
  std::vector<std::string> spare;   // damage that a start does without: of snapshots
  std::string missing;              // what was acknowledged and is not there; empty: nothing
};

enum class Thoroughness { kSmallTables, kEverything };
// What is not as it was written, in a database that has no file to look at.
absl::StatusOr<JournalReport> CheckTables(Connection& database, Thoroughness thoroughness);

// The parts of a check. Each tells what it finds; what cannot be read is damage.
class TableCheck {
 public:
  // `scan` is put behind a table's name where a whole table is read.
  TableCheck(Connection& database, JournalReport& report, const char* scan)
      : database_(database), report_(report), scan_(scan) {}

  // REQUIRES, for these two: report.head is there.
  void Chain();
  void Side(size_t number);
  void Snapshots();
  void Tell(std::string line);

 protected:
  void Note(const std::function<absl::Status()>& look);

 private:
  Connection& database_;
  JournalReport& report_;
  const char* const scan_;
};

// The experiments that readable rows behind `sequence` speak of, in words.
std::string ExperimentsBehind(Connection& database, int64_t sequence);
// "3 to 7", "3"
std::string Range(int64_t first, int64_t last);

}  // namespace dt
