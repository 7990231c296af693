// near_miss_test.cc: lines that are almost reports.
#include "worker/program/near_miss.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace dt::program {
namespace {

struct Case {
  const char* line;
  const char* why;  // part of the reason
  bool close = true;
};

TEST(NearMissTest, ExplainsTheErrorAndTheFix) {
  for (const Case& one : std::vector<Case>{
           {"{'epoch': 1, 'val_loss': 0.5}", "a dict as Python prints it"},
           {"{'step': 1, 'loss': np.float64(0.5)}", "a dict as Python prints it"},
           {"{'loss': 0.5, 'done': True, 'note': None}", "and it has no step", false},
           {R"({"val_loss": 0.5})", "it has no step", false},
           {R"({"step": 3, "val_loss": "0.5"})", "report a number, without quotation marks"},
           {R"({"step": 3, "metrics": {"val_loss": 0.5}})", "put its numbers beside the step"},
           {R"({"step": "3", "val_loss": 0.5})", "step is the text '3'"},
           {R"({"step": 2.5, "val_loss": 0.5})", "step is 2.5"},
           {R"(INFO:root:{"step": 3, "val_loss": 0.5})", "on a line of its own"},
           {R"({"step": 3, "val_loss": 0.5} done)", "on a line of its own"},
           {R"(result {"val_loss": 0.5})", "and it has no step", false},
           {"step 30: train loss 4.4711, val loss 4.4746",
            "not JSON; add metrics: {pattern: \"step {step}: train loss {train_loss}, val loss "
            "{val_loss}\"} to the file, or print "
            R"({"step": 30, "train_loss": 4.4711, "val_loss": 4.4746})"},
           {"2026-11-27 10:00:01 INFO step 30/100, loss 4.47",
            "{pattern: \"INFO step {step}/{}, loss {loss}\"}"},
           {"[INFO] it's step: 3 | Loss: 2.5", "{pattern: \"it's step: {step} | Loss: {loss}\"}"},
           {"step 3:\a loss 0.5", R"(not JSON; print {"step": 3, "loss": 0.5} in its place)"},
           {"loss=0.5 step=3", R"(print {"step": 3, "loss": 0.5} in its place)"},
           {"Epoch 1/10 - loss: 0.53 - val_acc: 0.81 - 12s",
            R"({"step": 1, "loss": 0.53, "val_acc": 0.81})"},
           {"iter 0: loss 10.9886, time 1200.55ms, mfu -100.00%",
            R"({"step": 0, "loss": 10.9886})"},
           {"[INFO] Step: 100 | Loss: nan | LR: 1e-3", R"({"step": 100, "loss": NaN})"},
           {"Test accuracy: 97.5%", "names no step", false},
           {"step 3: accuracy of 0.5", R"(print {"step": 3, "accuracy": 0.5} in its place)"},
           {"after step 3 the loss is now 0.5", R"("loss": 0.5})"},
           {"Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.25", R"("loss": 2.25})"},
       }) {
    const auto near = FindNearMiss(one.line, "val_loss");
    ASSERT_TRUE(near.has_value()) << one.line;
    EXPECT_NE(near->why.find(one.why), std::string::npos) << one.line << "\n  " << near->why;
    EXPECT_EQ(near->close, one.close) << one.line << "\n  " << near->why;
  }
}

TEST(NearMissTest, AReportOnStandardErrorSaysWhereToPrintIt) {
  const auto report = FindNearMissOnError(R"({"step": 3, "val_loss": 0.5})", "");
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->close);
  EXPECT_EQ(report->why, "it was printed to standard error; print it to standard output");
  EXPECT_TRUE(FindNearMissOnError("{'step': 3, 'val_loss': 0.5}", "").has_value());
  EXPECT_FALSE(FindNearMissOnError("UserWarning: lr is 0.1", "").has_value());
}

TEST(NearMissTest, ALineWithTheSearchsMetricIsANearReportWhateverItsName) {
  EXPECT_TRUE(FindNearMiss("round 4, quality 0.9", "quality").has_value());
  EXPECT_FALSE(FindNearMiss("round 4, quality 0.9", "val_loss").has_value());
}

TEST(NearMissTest, AnOrdinaryLogLineIsNoNearReport) {
  for (const std::string& line : std::vector<std::string>{
           "", "training starts", "loaded 60000 images", "100%|##########| 938/938 [00:05<00:00]",
           "{", "{}", "{x}", "config: {'model': 'resnet'}", R"({"event": "start"})", "loss = none",
           "Namespace(lr=0.1, epochs=3)", "http://127.0.0.1:8080/", "gloss 3",
           std::string(kNearMissBytes + 1, '1'), std::string(4000, '{'),
           std::string(2000, '-') + "1" + std::string(1000, ' ')}) {
    EXPECT_FALSE(FindNearMiss(line, "val_loss").has_value())
        << line.substr(0, 80) << ": " << FindNearMiss(line, "val_loss")->why;
  }
}

}  // namespace
}  // namespace dt::program
