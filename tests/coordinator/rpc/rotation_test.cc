// rotation_test.cc: certificates that are renewed while streams are open.
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/certificates.h"
#include "tests/testing/rpc_fixture.h"

namespace dt {
namespace {

class RotationTest : public RpcTest {
 protected:
  using Stream = std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerReport, v1::Orders>>;

  // Makes the certificates of a generation, and points the link in the flags to them.
  void Rotate(int generation) {
    const std::string folder = folder_ / absl::StrCat("of-", generation);
    ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
    made_.push_back(std::make_unique<testing::Certificates>(folder));
    const std::string draft = folder_ / "link";
    ASSERT_EQ(symlink(folder.c_str(), draft.c_str()), 0);
    ASSERT_EQ(rename(draft.c_str(), (folder_ / "tls").c_str()), 0);
  }
  TlsFiles Files(const std::string& name) const {
    const std::string at = folder_ / "tls/";
    return {at + "ca.crt", at + name + ".crt", at + name + ".key"};
  }
  static TlsFiles FilesOf(const testing::CertificateFiles& files) {
    return {files.ca, files.cert, files.key};
  }
  // Opens a stream on a new connection.
  void Open(const TlsFiles& files) {
    const auto credentials = MakeChannelCredentials(files, server_->address());
    ASSERT_TRUE(credentials.ok()) << credentials.status();
    grpc::ChannelArguments arguments = ClientChannelArguments();
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel = grpc::CreateCustomChannel(server_->address(), *credentials, arguments);
    SetDeadline(contexts_.emplace_back());
    streams_.push_back(v1::Fleet::NewStub(channel)->Session(&contexts_.back()));
  }
  bool Exchange(Stream& stream, const v1::WorkerReport& report) {
    v1::Orders orders;
    return stream->Write(report) && stream->Read(&orders);
  }
  grpc::StatusCode Dialled(const TlsFiles& files) {
    Dial(server_->address(), files);
    grpc::ClientContext context;
    SetDeadline(context);
    v1::GetStatusResponse response;
    return control_->GetStatus(&context, {}, &response).error_code();
  }

  testing::TempFolder folder_;
  std::vector<std::unique_ptr<testing::Certificates>> made_;
  std::deque<grpc::ClientContext> contexts_;
  std::vector<Stream> streams_;
};

TEST_F(RotationTest, EachRotationCountsFromTheNextConnectionOnAndDropsNoStream) {
  constexpr int kRotations = 6;
  Rotate(0);
  Serve("127.0.0.1:0", Files("server"));
  Script([](Event& event, Publisher& publisher) {
    if (const auto* received = std::get_if<ReportReceived>(&event.what)) {
      publisher.SendOrders({received->stream, {}});
    } else if (const auto* call = std::get_if<ClientCall>(&event.what)) {
      publisher.Answer({call->reply, absl::OkStatus(), std::make_unique<v1::GetStatusResponse>()});
    }
  });
  int dropped = 0;
  for (int i = 0; i < kRotations; ++i) {
    Open(Files("client"));
    ASSERT_TRUE(Exchange(streams_.back(), FirstReport())) << i;
    Rotate(i + 1);
    // The server shows the new authority's certificate, and no longer accepts the old one's.
    EXPECT_EQ(Dialled(Files("client")), grpc::StatusCode::OK) << i;
    EXPECT_EQ(Dialled(FilesOf(made_[i]->client())), grpc::StatusCode::UNAVAILABLE) << i;
    for (Stream& stream : streams_) dropped += Exchange(stream, {}) ? 0 : 1;
  }
  EXPECT_EQ(dropped, 0);
  EXPECT_EQ(server_->fleet().streams(), static_cast<size_t>(kRotations));
  for (grpc::ClientContext& context : contexts_) context.TryCancel();
}

}  // namespace
}  // namespace dt
