// wire.h: reads messages from bytes and writes them to bytes, so that a message that cannot be read
// is answered with the reason.
//
// Role:    gRPC's own reader answers such a request with "not implemented", and ends a stream
//          without a message. So the services take bytes and read them here.
// Errors:  InvalidArgument names the text that is not UTF-8, or says that the bytes are no such
//          message.
// Tests:   tests/coordinator/rpc/wire_test.cc
#pragma once

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace dt {

absl::Status ReadMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message& message);
grpc::ByteBuffer WriteMessage(const google::protobuf::Message& message);

// Returns the path of the first text in `message` that is not UTF-8 ("spec.labels[0].value"); "":
// none.
std::string MalformedText(const google::protobuf::Message& message);

// Stops libprotobuf from printing a line for each malformed text; the sender's error names it.
void QuietProtobuf();

}  // namespace dt
