// notify_test.cc: the `notify` section of a file.
#include "spec/notify.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "spec/spec.h"
#include "tests/testing/experiments.h"

namespace dt::spec {
namespace {

std::vector<std::string> Codes(const std::string& url, const std::vector<std::string>& events,
                               const std::string& form = "") {
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_notify()->set_url(url);
  for (const std::string& event : events) spec.mutable_notify()->add_events(event);
  spec.mutable_notify()->set_form(form);
  std::vector<std::string> codes;
  for (const Issue& issue : Validate(spec)) {
    EXPECT_EQ(issue.message.find("secret"), std::string::npos) << issue.message;
    EXPECT_EQ(issue.path.find("notify."), 0u) << issue.path << ": where it is in the file";
    codes.push_back(issue.code);
  }
  return codes;
}
using Strings = std::vector<std::string>;

TEST(NotifyTest, AnAddressAndWordsAreRightAndMistakesAreNamedWithoutTheAddress) {
  EXPECT_EQ(Codes("", {}), Strings{});
  EXPECT_EQ(Codes("https://hooks.example/secret", {"finished", "best"}), Strings{});
  EXPECT_EQ(Codes("https://hooks.example/secret", {}, "slack"), Strings{});
  EXPECT_EQ(Codes("", {"best"}), Strings{"missing"});
  EXPECT_EQ(Codes("", {}, "json"), Strings{"missing"});
  EXPECT_EQ(Codes("https://hooks.example/secret", {}, "discord"), Strings{"unknown_choice"});
  EXPECT_EQ(Codes("hooks.example/secret", {}), Strings{"bad_url"});
  EXPECT_EQ(Codes("https://a:secret@hooks.example/", {}), Strings{"bad_url"});
  EXPECT_EQ(Codes(absl::StrCat("https://h.example/secret", std::string(2000, 'x')), {}),
            Strings{"too_large"});
  EXPECT_EQ(Codes("https://h.example/", {"done", "best", "best"}),
            (Strings{"unknown_word", "duplicate"}));
  EXPECT_EQ(Codes("https://h.example/", Strings(5, "best")), Strings{"too_many"});
}

TEST(NotifyTest, WithoutWordsAllButTheBestAreMeant) {
  v1::Notify notify;
  EXPECT_FALSE(AsksFor(notify, "finished")) << "no receiver";
  notify.set_url("https://h.example/");
  EXPECT_EQ(NoticeText(notify), "finished, failed, stalled");
  notify.add_events("best");
  EXPECT_EQ(NoticeText(notify), "best");
  EXPECT_FALSE(AsksFor(notify, "finished"));
}

TEST(NotifyTest, ASpecificationIsWrittenAsTheFileHasIt) {
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_notify()->set_url("https://h.example/x");
  spec.mutable_notify()->add_events("failed");
  spec.mutable_notify()->add_events("best");
  spec.mutable_notify()->set_form("slack");
  EXPECT_NE(ToYaml(spec).find("notify:\n  url: \"https://h.example/x\"\n  events: [failed, "
                              "best]\n  form: slack\n"),
            std::string::npos)
      << ToYaml(spec);
}

}  // namespace
}  // namespace dt::spec
