#include "coordinator/store/sql.h"

#include "common/status.h"
#include "coordinator/store/checksum.h"

namespace dt {

absl::StatusOr<Statement> Statement::Prepare(Connection& connection, const std::string& sql) {
  Statement statement;
  DT_ASSIGN_OR_RETURN(statement.prepared_, connection.Prepare(sql));
  return statement;
}

Statement& Statement::BindColumn(int position, const Statement& from, int column) {
  switch (from.prepared_->Kind(column)) {
    case ColumnKind::kInteger:
      return Bind(position, from.Integer(column));
    case ColumnKind::kText:
      return BindText(position, from.Blob(column));
    case ColumnKind::kBlob:
      return BindBlob(position, from.Blob(column));
  }
  return *this;
}

absl::Status Statement::Run() {
  auto row = Step();
  Reset();
  if (!row.ok()) return row.status();
  return absl::OkStatus();
}

int64_t Statement::ChecksumOf(int first, int count) const {
  Checksum checksum;
  for (int column = first; column < first + count; ++column) {
    if (prepared_->Kind(column) == ColumnKind::kInteger) {
      checksum.Add(Integer(column));
    } else {
      checksum.Add(Blob(column));
    }
  }
  return checksum.Sum();
}

}  // namespace dt
