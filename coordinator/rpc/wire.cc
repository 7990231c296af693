#include "coordinator/rpc/wire.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/stubs/logging.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/proto_buffer_writer.h"

namespace dt {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string PathInto(const Message& message, const FieldDescriptor& field, int index) {
  const auto& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  const std::string here =
      repeated ? absl::StrCat(field.name(), "[", index, "]") : std::string(field.name());
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const Message& inner = repeated ? reflection.GetRepeatedMessage(message, &field, index)
                                    : reflection.GetMessage(message, &field);
    const std::string rest = MalformedText(inner);
    return rest.empty() ? rest : absl::StrCat(here, ".", rest);
  }
  if (field.type() != FieldDescriptor::TYPE_STRING) return {};
  const std::string text = repeated ? reflection.GetRepeatedString(message, &field, index)
                                    : reflection.GetString(message, &field);
  return IsUtf8(text) ? std::string() : here;
}

void PrintFatal(google::protobuf::LogLevel level, const char* file, int line,
                const std::string& text) {
  if (level != google::protobuf::LOGLEVEL_FATAL) return;
  std::fprintf(stderr, "libprotobuf %s:%d: %s\n", file, line, text.c_str());
}

}  // namespace

std::string MalformedText(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (std::string path = PathInto(message, *field, i); !path.empty()) return path;
    }
  }
  return {};
}

absl::Status ReadMessage(const grpc::ByteBuffer& bytes, Message& message) {
  grpc::ByteBuffer shared = bytes;  // the reader takes a pointer and may change the buffer
  grpc::ProtoBufferReader reader(&shared);
  if (reader.status().ok() && message.ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  // The parsed fields are in `message`; the text that failed is the last of them.
  const std::string malformed = MalformedText(message);
  if (malformed.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the message is not a valid ", message.GetDescriptor()->name(),
                     "; is the program that sent it of another version?"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(malformed, " is not UTF-8; write it as UTF-8 text"));
}

grpc::ByteBuffer WriteMessage(const Message& message) {
  const size_t bytes = message.ByteSizeLong();
  grpc::Slice slice(bytes);
  // Nobody else has the slice yet, so its bytes may be written.
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

void QuietProtobuf() { google::protobuf::SetLogHandler(&PrintFatal); }

}  // namespace dt
