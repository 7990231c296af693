// body_test.cc: the bodies of notifications.
#include "coordinator/notify/body.h"

#include <gtest/gtest.h>

#include "coordinator/notify/signature.h"
#include "nlohmann/json.hpp"

namespace dt {
namespace {

v1::Notice Failed() {
  v1::Notice notice;
  notice.set_number(7);
  notice.set_event(v1::Notice::FAILED);
  notice.set_url("https://hooks.example/secret");
  notice.set_experiment(12);
  notice.set_name("grid");
  notice.set_submitted_by("ann");
  notice.set_trial(3);
  notice.set_state("failed");
  notice.set_cause("oom");
  notice.set_message("rank 0 ran out of memory");
  notice.set_metric("val_loss");
  notice.set_wall_ms(1'700'000'000'123);
  return notice;
}

TEST(BodyTest, AFailedTrialHasItsNamesCauseAndTheCommandThatShowsIt) {
  const auto body = nlohmann::json::parse(NoticeBody(0xabc, Failed()));
  EXPECT_EQ(body["version"], 1);
  EXPECT_EQ(body["id"], "0000000000000abc-7");
  EXPECT_EQ(body["event"], "failed");
  EXPECT_EQ(body["time"], "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(body["text"], "trial 12/3 of 'grid' failed (oom): rank 0 ran out of memory");
  EXPECT_EQ(body["experiment"]["id"], "12");
  EXPECT_EQ(body["experiment"]["name"], "grid");
  EXPECT_EQ(body["experiment"]["submitted_by"], "ann");
  EXPECT_EQ(body["trial"]["id"], "12/3");
  EXPECT_FALSE(body["trial"].contains("value")) << "it has none";
  EXPECT_EQ(body["state"], "failed");
  EXPECT_EQ(body["cause"], "oom");
  EXPECT_EQ(body["look"], "dtctl explain 12/3");
}

TEST(BodyTest, SlackGetsTheLineForPeopleAloneAndNobodysNameCallsAChannel) {
  for (const char* url :
       {"https://hooks.slack.com/services/T0/B0/x", "https://HOOKS.slack.com:443/services/T0/B0/x",
        "https://hooks.slack-gov.com/services/T0/B0/x"}) {
    EXPECT_TRUE(WantsSlack({}, url)) << url;
  }
  for (const char* url : {"https://hooks.slack.com.example/x", "https://hooks.example/slack.com",
                          "https://slack.com/x", "nothing"}) {
    EXPECT_FALSE(WantsSlack({}, url)) << url;
  }
  v1::Notice notice = Failed();
  notice.set_form("slack");
  EXPECT_TRUE(WantsSlack(notice, "https://chat.example/x")) << "as asked for";
  notice.set_form("json");
  EXPECT_FALSE(WantsSlack(notice, "https://hooks.slack.com/x")) << "as asked for";
  notice.set_name("<!channel> & <https://elsewhere.example|grid>");
  const auto body = nlohmann::json::parse(SlackBody(notice));
  EXPECT_EQ(body.size(), 1u);
  EXPECT_EQ(body["text"],
            "trial 12/3 of '&lt;!channel&gt; &amp; &lt;https://elsewhere.example|grid&gt;' failed "
            "(oom): rank 0 ran out of memory\ndtctl explain 12/3");
}

TEST(BodyTest, AnExperimentThatEndedHasItsBestTrial) {
  v1::Notice notice = Failed();
  notice.set_event(v1::Notice::FINISHED);
  notice.set_state("finished");
  notice.clear_cause();
  notice.set_message("4 finished, 0 failed, 0 cancelled");
  notice.set_value(3.25);
  const auto body = nlohmann::json::parse(NoticeBody(1, notice));
  EXPECT_EQ(body["best"]["id"], "12/3");
  EXPECT_EQ(body["best"]["metric"], "val_loss");
  EXPECT_EQ(body["best"]["value"], 3.25);
  EXPECT_FALSE(body.contains("trial"));
  EXPECT_FALSE(body.contains("cause"));
  EXPECT_EQ(body["text"],
            "experiment 12 'grid' ended finished (4 finished, 0 failed, 0 cancelled); best is "
            "trial 12/3: val_loss 3.25");
  EXPECT_EQ(body["look"], "dtctl describe 12");
}

TEST(BodyTest, TheAddressAndInvalidTextAreNotSent) {
  v1::Notice notice = Failed();
  notice.set_name("a\"\xff</script>");
  const std::string text = NoticeBody(1, notice);
  EXPECT_EQ(text.find("secret"), std::string::npos);
  const auto body = nlohmann::json::parse(text);
  EXPECT_EQ(body["experiment"]["name"], "a\"\xef\xbf\xbd</script>");
}

// RFC 4231, test case 2, with a key shorter than ours may be.
TEST(SignatureTest, IsTheHmacOfTheBody) {
  EXPECT_EQ(SignatureOf("Jefe", "what do ya want for nothing?"),
            "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(SignatureOf("", "not signed"), "");
}

}  // namespace
}  // namespace dt
