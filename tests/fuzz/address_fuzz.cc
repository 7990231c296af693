// address_fuzz.cc: any bytes as the address of a receiver, of a coordinator, and as a text in which
// addresses are hidden.
//
// An allowed receiver is one origin, which reads back the same; a secret after the host is in no
// text that is shown.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/address.h"
#include "common/net/credentials.h"
#include "common/url.h"
#include "coordinator/access/receivers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto url = dt::ParseUrl(text);
  const std::string shown = dt::ShownUrl(text);
  if (url.ok()) {
    const std::string origin = dt::OriginOf(*url);
    const auto again = dt::ParseUrl(origin);
    if (!again.ok() || dt::OriginOf(*again) != origin || !again->rest.empty()) std::abort();
    if (!shown.starts_with(origin)) std::abort();
    // The origin may contain the same letters.
    if (url->rest.size() > 8 && shown.find(url->rest, origin.size()) != std::string::npos) {
      std::abort();
    }
    static const auto receivers = dt::Receivers::Make({"hooks.example"});
    if (receivers->Admit(text).ok() && url->host != "hooks.example") std::abort();
  }
  dt::HideUrl(text, text);
  dt::HideUrl(text, "https://hooks.example/secret-of-the-receiver");
  for (const auto zero : {dt::PortZero::kRefused, dt::PortZero::kAllowed}) {
    dt::CheckAddress("--listen", text, zero).IgnoreError();
    dt::CheckHostAndPort("--http", text, zero).IgnoreError();
  }
  dt::IsLocalAddress(text);
  return 0;
}
