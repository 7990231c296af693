#include "coordinator/store/head.h"

#include <sys/random.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/status.h"
#include "coordinator/store/checksum.h"
#include "coordinator/store/journal.h"

namespace dt {
namespace {

constexpr char kColumns[] =
    "store, commits, sequence, hash, experiment, chunks, logs, runs, evaluations, acks, deleting";
constexpr int kColumnCount = 5 + kSides;

}  // namespace

StoreHead NewHead() {
  uint64_t bits[2];
  DT_CHECK(getrandom(bits, sizeof(bits), 0) == sizeof(bits));
  StoreHead head;
  head.mark.store =
      absl::StrCat(absl::Hex(bits[0], absl::kZeroPad16), absl::Hex(bits[1], absl::kZeroPad16));
  head.mark.hash = JournalPlace().hash;
  return head;
}

absl::StatusOr<StoreHead> ReadHead(Connection& database) {
  DT_ASSIGN_OR_RETURN(
      Statement query,
      Statement::Prepare(database,
                         absl::StrCat("SELECT ", kColumns, ", checksum FROM head WHERE id = 1")));
  DT_ASSIGN_OR_RETURN(const bool found, query.Step());
  if (!found || query.Integer(kColumnCount) != query.ChecksumOf(0, kColumnCount)) {
    return absl::DataLossError("the head row, which describes the newest commit, is damaged");
  }
  StoreHead head;
  head.mark = {query.Text(0), query.Integer(1), query.Integer(2), query.Text(3), query.Integer(4)};
  for (size_t side = 0; side < kSides; ++side) {
    head.sums[side] = static_cast<uint64_t>(query.Integer(5 + static_cast<int>(side)));
  }
  return head;
}

absl::StatusOr<HeadWriter> HeadWriter::Prepare(Connection& database) {
  HeadWriter writer;
  DT_ASSIGN_OR_RETURN(
      writer.write_,
      Statement::Prepare(
          database,
          absl::StrCat("INSERT INTO head (id, ", kColumns,
                       ", checksum) VALUES (1,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE "
                       "SET ",
                       absl::StrJoin(absl::StrSplit(absl::StrCat(kColumns, ", checksum"), ", "),
                                     ", ", [](std::string* text, absl::string_view column) {
                                       absl::StrAppend(text, column, " = excluded.", column);
                                     }))));
  return writer;
}

absl::Status HeadWriter::Write(const StoreHead& head) {
  const HighWaterMark& mark = head.mark;
  write_.BindText(1, mark.store).Bind(2, mark.commits).Bind(3, mark.sequence);
  write_.BindText(4, mark.hash).Bind(5, mark.experiment);
  Checksum checksum;
  checksum.Add(mark.store).Add(mark.commits).Add(mark.sequence);
  checksum.Add(mark.hash).Add(mark.experiment);
  int position = 6;
  for (const uint64_t sum : head.sums) {
    write_.Bind(position++, static_cast<int64_t>(sum));
    checksum.Add(static_cast<int64_t>(sum));
  }
  return write_.Bind(position, checksum.Sum()).Run();
}

}  // namespace dt
