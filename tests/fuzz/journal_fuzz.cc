// journal_fuzz.cc: a journal with changed bytes, or cut short: refused, or a prefix of the written
// one; and the same bytes as replayed records: refused, or applied.
//
// Four bytes are a change: three give the place, one the new value. The first byte says whether the
// journal is cut.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "coordinator/core/facts/apply.h"
#include "coordinator/core/facts/snapshot.h"
#include "coordinator/core/model/durable.h"
#include "coordinator/store/sql_journal.h"
#include "coordinator/store/sqlite_store.h"
#include "tests/testing/temp_folder.h"

namespace {

namespace v1 = ::dtrain::v1;

struct Written {
  dt::testing::TempFolder folder{dt::testing::Medium::kMemory};
  std::string path;   // path of the copy that is changed
  std::string bytes;  // contents of the file as it was written
  std::vector<std::string> records;

  Written() {
    auto store = dt::SqliteStore::Open(folder / "state", "fuzz");
    if (!store.ok()) std::abort();
    dt::Batch batch;
    std::vector<v1::Record> made(20);
    for (size_t i = 0; i < made.size(); ++i) {
      made[i].mutable_worker_marked()->set_worker("host/" + std::to_string(i));
      made[i].mutable_worker_marked()->set_mark(v1::WorkerMarked::DRAINED);
      batch.records.push_back(&made[i]);
    }
    if (!(*store)->Commit(batch).ok()) std::abort();
    const std::string made_path = folder / "state/journal.db";
    if (!(*store)->Close().ok()) std::abort();
    store->reset();
    std::ifstream file(made_path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
    path = folder / "changed.db";
    records = Read(bytes);
    if (records.size() < made.size()) std::abort();
  }
  std::vector<std::string> Read(const std::string& content) const {
    std::ofstream(path, std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
    std::vector<std::string> read;
    const auto journal = dt::OpenSqliteJournalOffline(path);
    if (!journal.ok()) return read;
    dt::JournalPlace place;
    (*journal)
        ->Replay(place,
                 [&read](const v1::Record& record) {
                   read.push_back(record.SerializeAsString());
                   return absl::OkStatus();
                 })
        .IgnoreError();
    return read;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Written written;
  if (size == 0) return 0;
  std::string changed = written.bytes;
  for (size_t at = 1; at + 4 <= size; at += 4) {
    const size_t where = data[at] | size_t{data[at + 1]} << 8 | size_t{data[at + 2]} << 16;
    changed[where % changed.size()] = static_cast<char>(data[at + 3]);
  }
  if (data[0] > 127) changed.resize(changed.size() * (data[0] - 127u) / 129);
  const std::vector<std::string> read = written.Read(changed);
  if (read.size() > written.records.size() ||
      !std::equal(read.begin(), read.end(), written.records.begin())) {
    std::abort();
  }
  // Bytes with the right hash are trusted, but their contents must still be refused without a
  // fault.
  v1::Record record;
  if (!record.ParseFromArray(data, static_cast<int>(size))) return 0;
  dt::DurableState state;
  v1::Record created;
  created.mutable_journal_created()->set_journal_id(7);
  if (!dt::Apply(state, created).ok()) std::abort();
  dt::Apply(state, record).IgnoreError();
  dt::LoadSnapshot({std::string(reinterpret_cast<const char*>(data), size)}).IgnoreError();
  return 0;
}
