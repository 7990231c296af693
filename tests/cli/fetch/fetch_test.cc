// fetch_test.cc: data sets from a real HTTP server on loopback: complete, broken off, wrong,
// absent.
#include "cli/fetch/fetch.h"

#include <CivetServer.h>
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/commands/app.h"
#include "common/files.h"
#include "common/sha256.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

using ::dt::testing::Slurp;
using ::dt::testing::TempFolder;

// Serves one content under every path below /set/; /redirect leads there.
class Site final : public CivetHandler {
 public:
  bool handleGet(CivetServer*, mg_connection* connection) override {
    const std::lock_guard lock(mutex_);
    const char* range = mg_get_header(connection, "Range");
    ranges_.emplace_back(range == nullptr ? "" : range);
    size_t from = 0;
    if (range != nullptr && obeys_ranges_) {
      from = std::strtoul(range + std::string("bytes=").size(), nullptr, 10);
    }
    if (status_ != 200) {
      mg_printf(connection, "HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n", status_);
      return true;
    }
    if (from > 0) {
      mg_printf(connection,
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %zu-%zu/%zu\r\n"
                "Content-Length: %zu\r\n\r\n",
                from, content_.size() - 1, content_.size(), content_.size() - from);
    } else {
      mg_printf(connection, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
                content_.size());
    }
    mg_write(connection, content_.data() + from, std::min(breaks_at_, content_.size()) - from);
    return true;
  }

  void Serve(std::string content) {
    const std::lock_guard lock(mutex_);
    content_ = std::move(content);
    ranges_.clear();
    status_ = 200;
    obeys_ranges_ = true;
    breaks_at_ = std::string::npos;
  }
  void Answer(int status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
  }
  void IgnoreRanges() {
    const std::lock_guard lock(mutex_);
    obeys_ranges_ = false;
  }
  // Ends the connection after so many bytes.
  void BreakAt(size_t bytes) {
    const std::lock_guard lock(mutex_);
    breaks_at_ = bytes;
  }
  std::vector<std::string> Ranges() {
    const std::lock_guard lock(mutex_);
    return ranges_;
  }

 private:
  std::mutex mutex_;
  std::string content_;
  std::vector<std::string> ranges_;  // requested ranges, "" for the complete file
  int status_ = 200;
  bool obeys_ranges_ = true;
  size_t breaks_at_ = std::string::npos;
};

class FetchTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("no_proxy", "127.0.0.1", 1);
    site_ = new Site;
    // A connection ends after one second without a request, so that the server stops soon.
    server_ = new CivetServer(std::vector<std::string>{
        "listening_ports", "127.0.0.1:0", "num_threads", "2", "request_timeout_ms", "1000"});
    server_->addHandler("/set", site_);
  }
  static void TearDownTestSuite() {
    delete server_;
    delete site_;
  }

  FetchTest() {
    for (int i = 0; i < 40000; ++i) absl::StrAppend(&content_, i, " words\n");
    site_->Serve(content_);
    set_.name = "set";
    set_.base = absl::StrCat("http://127.0.0.1:", server_->getListeningPorts().front(), "/set");
    set_.files = {{.name = "a.txt", .bytes = content_.size(), .sha256 = Sha256Hex(content_)}};
  }

  absl::StatusOr<std::vector<Fetched>> Fetch() {
    return FetchDataSet(set_, folder_ / "out", [this](const PublicFile&, uint64_t bytes) {
      EXPECT_LE(bytes, content_.size());
      return Download::kGoOn;
    });
  }
  std::string Path() const { return folder_ / "out/a.txt"; }

  static Site* site_;
  static CivetServer* server_;
  TempFolder folder_;
  std::string content_;
  DataSet set_;
};
Site* FetchTest::site_ = nullptr;
CivetServer* FetchTest::server_ = nullptr;

TEST_F(FetchTest, AFileIsDownloadedOnceAndThenKept) {
  const auto first = Fetch();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->front().how, Fetched::How::kDownloaded);
  EXPECT_EQ(Slurp(Path()), content_);
  EXPECT_FALSE(std::filesystem::exists(Path() + ".part"));
  const auto second = Fetch();
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->front().how, Fetched::How::kWasThere);
  EXPECT_EQ(site_->Ranges().size(), 1u);
}

TEST_F(FetchTest, ABrokenDownloadContinuesAfterTheReceivedBytes) {
  site_->BreakAt(100000);
  const auto broken = Fetch();
  EXPECT_TRUE(absl::IsUnavailable(broken.status())) << broken.status();
  EXPECT_FALSE(std::filesystem::exists(Path()));
  EXPECT_EQ(std::filesystem::file_size(Path() + ".part"), 100000u);
  site_->BreakAt(std::string::npos);
  ASSERT_TRUE(Fetch().ok());
  EXPECT_EQ(Slurp(Path()), content_);
  EXPECT_EQ(site_->Ranges(), (std::vector<std::string>{"", "bytes=100000-"}));
}

TEST_F(FetchTest, AServerWithoutRangesIsAskedForTheCompleteFile) {
  folder_.Write("out/a.txt.part", "half");
  site_->IgnoreRanges();
  ASSERT_TRUE(Fetch().ok());
  EXPECT_EQ(Slurp(Path()), content_);
}

TEST_F(FetchTest, AFileThatIsNotThePublishedOneIsRemovedAndNamed) {
  folder_.Write("out/a.txt.part", "other text");
  const auto wrong = Fetch();
  EXPECT_TRUE(absl::IsDataLoss(wrong.status())) << wrong.status();
  EXPECT_NE(wrong.status().message().find(set_.files[0].sha256), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(Path()));
  EXPECT_TRUE(Fetch().ok()) << "from the beginning";

  std::filesystem::remove(Path());
  site_->Serve(content_ + "more");
  EXPECT_TRUE(absl::IsDataLoss(Fetch().status()));
  EXPECT_FALSE(std::filesystem::exists(Path()));
}

TEST_F(FetchTest, AFileOfAnotherContentIsNotReplaced) {
  folder_.Write("out/a.txt", "mine");
  const auto refused = Fetch();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_EQ(Slurp(Path()), "mine");
}

TEST_F(FetchTest, LinesMayComeInAnotherOrderIfCopiesDiffer) {
  set_.files[0].fingerprinted = Fingerprinted::kSortedLines;
  set_.files[0].bytes = 8;
  set_.files[0].sha256 = Sha256Hex("\nab\nb\nc");
  site_->Serve("c\nab\nb\n");
  EXPECT_TRUE(absl::IsDataLoss(Fetch().status())) << "7 bytes";
  set_.files[0].bytes = 7;
  EXPECT_TRUE(Fetch().ok());
}

TEST_F(FetchTest, AStoppedDownloadKeepsTheReceivedBytes) {
  const auto stopped = FetchDataSet(set_, folder_ / "out", [](const PublicFile&, uint64_t bytes) {
    return bytes > 0 ? Download::kStop : Download::kGoOn;
  });
  EXPECT_TRUE(absl::IsCancelled(stopped.status())) << stopped.status();
  EXPECT_TRUE(std::filesystem::exists(Path() + ".part"));
  EXPECT_TRUE(Fetch().ok());
}

TEST_F(FetchTest, AnUnreachableAddressIsReportedWithTheFileToPlaceByHand) {
  site_->Answer(404);
  const auto absent = Fetch();
  EXPECT_TRUE(absl::IsUnavailable(absent.status()));
  EXPECT_NE(absent.status().message().find("404"), std::string::npos) << absent.status();

  // A port that is taken and on which no process listens.
  const UniqueFd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  socklen_t length = sizeof name;
  ASSERT_EQ(::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&name), &length), 0);
  const std::string mirror = absl::StrCat("http://127.0.0.1:", ntohs(name.sin_port));

  std::ostringstream out;
  std::ostringstream err;
  std::istringstream in;
  Interrupt interrupt;
  Terminal terminal;
  terminal.out = &out;
  terminal.err = &err;
  terminal.in = &in;
  terminal.environment = [&](const std::string& key) {
    return key == "DTCTL_DATA_MIRROR" ? mirror : std::string();
  };
  const std::string folder = folder_ / "vocab";
  EXPECT_EQ(dt::cli::Run({"data", "fetch", "gpt2-vocab", "--output", folder}, terminal, interrupt,
                         Pace{}),
            3);
  for (const std::string& said : {mirror + "/gpt2-vocab/vocab.bpe",
                                  mirror + "/gpt2-vocab/encoder.json", "place them in " + folder}) {
    EXPECT_NE(err.str().find(said), std::string::npos) << err.str();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_EQ(
      dt::cli::Run({"data", "fetch", "imagenet", "--output", folder}, terminal, interrupt, Pace{}),
      2);
}

TEST(CatalogueTest, EveryFileHasAHashAndASecureAddress) {
  for (const DataSet& set : Catalogue()) {
    EXPECT_TRUE(set.base.starts_with("https://")) << set.name;
    for (const PublicFile& file : set.files) {
      EXPECT_EQ(file.sha256.size(), 64u) << file.name;
      EXPECT_GT(file.bytes, 0u) << file.name;
    }
  }
}

}  // namespace
}  // namespace dt::cli
