// read_fuzz.cc: any bytes as the messages of calls that read a journal outside the core, and of
// calls that bring a file: refused, or a page whose token leads on.
//
// The first byte chooses the call.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "coordinator/rpc/submitted_file.h"
#include "coordinator/rpc/wire.h"
#include "coordinator/store/sql_reader.h"
#include "coordinator/store/sqlite_store.h"
#include "tests/testing/temp_folder.h"

namespace {

namespace v1 = ::dtrain::v1;

struct World {
  dt::testing::TempFolder folder{dt::testing::Medium::kMemory};
  std::unique_ptr<dt::SqliteStore> store;
  std::unique_ptr<dt::StoreReader> reader;

  World() {
    dt::QuietProtobuf();
    auto opened = dt::SqliteStore::Open(folder.path(), "fuzz");
    if (!opened.ok()) std::abort();
    store = *std::move(opened);
    reader = *dt::OpenSqliteReader(folder.path());
  }
};

template <typename Request>
bool Read(const std::string& bytes, Request& request) {
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer buffer(&slice, 1);
  const absl::Status read = dt::ReadMessage(buffer, request);
  if (!read.ok() && read.message().empty()) std::abort();
  return read.ok() && dt::MalformedText(request).empty();
}

// Reads a page and follows its token, which must be accepted.
template <typename Request, typename Call>
void Page(Request request, Call call) {
  const auto page = call(request);
  if (!page.ok()) {
    if (page.status().message().empty()) std::abort();
    return;
  }
  request.set_page_token(page->next_page_token());
  if (!call(request).ok()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const World world;
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 4 == 0) {
    v1::ReadMetricsRequest request;
    if (!Read(bytes, request)) return 0;
    Page(request, [&](const auto& asked) { return world.reader->ReadMetrics(asked); });
  } else if (data[0] % 4 == 1) {
    v1::ReadLogsRequest request;
    if (!Read(bytes, request)) return 0;
    Page(request, [&](const auto& asked) { return world.reader->ReadLogs(asked); });
  } else if (data[0] % 4 == 2) {
    v1::SubmitRequest request;
    if (!Read(bytes, request) || !dt::BringsFileAlone(request)) return 0;
    dt::ReadSubmittedFile(request).IgnoreError();
  } else {
    v1::WorkerReport report;
    if (Read(bytes, report) && dt::WriteMessage(report).Length() == 0 && !bytes.empty() &&
        report.ByteSizeLong() > 0) {
      std::abort();
    }
  }
  return 0;
}
