// wire_test.cc: messages that cannot be read, and the errors about them.
#include "coordinator/rpc/wire.h"

#include <gtest/gtest.h>

#include "dtrain/v1/control.pb.h"
#include "dtrain/v1/fleet.pb.h"

namespace dt {
namespace {

namespace v1 = ::dtrain::v1;

constexpr char kBad[] = "caf\xe9";

template <typename Message>
std::string Refusal(const Message& message) {
  Message read;
  const absl::Status status = ReadMessage(WriteMessage(message), read);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(WireTest, AMessageReadsBackTheSame) {
  v1::SubmitRequest request;
  request.set_file_name("caf\xc3\xa9.yaml");
  request.mutable_spec()->add_labels()->set_key("who");
  v1::SubmitRequest read;
  ASSERT_TRUE(ReadMessage(WriteMessage(request), read).ok());
  EXPECT_EQ(read.SerializeAsString(), request.SerializeAsString());
}

TEST(WireTest, TextThatIsNotUtf8IsNamedByItsPath) {
  QuietProtobuf();
  v1::CancelRequest cancel;
  cancel.set_reason(kBad);
  EXPECT_EQ(Refusal(cancel), "reason is not UTF-8; write it as UTF-8 text");
  v1::SubmitRequest submit;
  submit.mutable_spec()->add_labels()->set_key("fine");
  submit.mutable_spec()->add_labels()->set_value(kBad);
  EXPECT_EQ(Refusal(submit), "spec.labels[1].value is not UTF-8; write it as UTF-8 text");
  v1::SubmitRequest swept;
  swept.mutable_spec()->add_parameters()->add_values()->set_text(kBad);
  EXPECT_EQ(Refusal(swept),
            "spec.parameters[0].values[0].text is not UTF-8; write it as UTF-8 text");
  v1::WorkerReport report;
  report.mutable_hello()->set_worker(kBad);
  EXPECT_EQ(Refusal(report), "hello.worker is not UTF-8; write it as UTF-8 text");
}

TEST(WireTest, BytesThatAreNoMessageAreRefusedByItsName) {
  const grpc::Slice slice(std::string("\xff\xff\xff"));
  v1::CancelRequest read;
  const absl::Status status = ReadMessage(grpc::ByteBuffer(&slice, 1), read);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("not a valid CancelRequest"), absl::string_view::npos);
}

}  // namespace
}  // namespace dt
