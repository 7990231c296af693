// sharded_home_test.cc: how parameters are cut, and where they lie in rows and shards.
#include "worker/trainer/parallel/sharded_home.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "worker/trainer/model/transformer.h"

namespace dt::trainer {
namespace {

// A model of two blocks, as one of `ranks` ranks holds it.
struct Held {
  Held(int rank, int ranks) : home(at::kCPU, rank, ranks, ShardedHome::Rows::kStay) {
    home.Keep("wte.weight", at::arange(0, 10 * 8, at::kFloat).view({10, 8}));
    for (const std::string block : {"h.0.", "h.1."}) {
      home.Keep(block + "up.weight", at::full({5, 7}, 2.0));
      home.Keep(block + "up.bias", at::full({5}, 3.0));
    }
    home.Keep("ln_f.bias", at::full({3}, 4.0));
    home.Close();
  }
  ShardedHome home;
};

TEST(ShardedHomeTest, AUnitIsABlockOrAllParametersOutsideOfBlocks) {
  EXPECT_EQ(UnitOf("wte.weight"), 0u);
  EXPECT_EQ(UnitOf("ln_f.bias"), 0u);
  EXPECT_EQ(UnitOf("h.0.ln_1.weight"), 1u);
  EXPECT_EQ(UnitOf("h.11.mlp.c_fc.weight"), 12u);
}

TEST(ShardedHomeTest, RanksTogetherHoldEachPartOfAParameterOnce) {
  for (const int ranks : {2, 3, 4}) {
    std::vector<std::unique_ptr<Held>> held;
    for (int rank = 0; rank < ranks; ++rank) held.push_back(std::make_unique<Held>(rank, ranks));
    for (size_t i = 0; i < held[0]->home.pieces().size(); ++i) {
      int64_t next = 0, all = 1;
      for (const int64_t size : held[0]->home.pieces()[i].shape) all *= size;
      for (int rank = 0; rank < ranks; ++rank) {
        const Piece& piece = held[rank]->home.pieces()[i];
        EXPECT_EQ(piece.spread, held[0]->home.pieces()[i].spread) << "every rank knows of all";
        const Extent& mine = piece.spread.at(rank);
        EXPECT_EQ(mine.count, piece.value.numel());
        EXPECT_EQ(mine.from, piece.from);
        if (mine.count == 0) continue;
        EXPECT_EQ(mine.from, next) << piece.name << " of " << ranks << " ranks";
        next += mine.count;
      }
      EXPECT_EQ(next, all) << held[0]->home.pieces()[i].name;
    }
  }
}

// A tensor of four heads of two numbers each, in two parts.
TEST(CutTest, APartHasItsHeadsOfQueriesKeysAndValues) {
  const at::Tensor whole = at::arange(0, 3 * 4 * 2, at::kFloat);
  const Cut cut = CutOf("h.3.attn.c_attn.bias", whole.sizes(), 1, 2);
  EXPECT_EQ(ShapeOf(cut, {24}), (std::vector<int64_t>{12}));
  const at::Tensor part = TakenPart(cut, whole);
  EXPECT_TRUE(
      at::equal(part, at::tensor({4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23}, at::kFloat)));
}

TEST(CutTest, PartsJoinToTheParameterAndUncutOnesAreCompleteOnEachRank) {
  for (const auto& [name, shape] :
       {std::pair("h.0.attn.c_attn.weight", std::vector<int64_t>{24, 8}),
        std::pair("h.0.attn.c_proj.weight", std::vector<int64_t>{8, 8}),
        std::pair("h.0.mlp.c_fc.weight", std::vector<int64_t>{16, 8}),
        std::pair("h.0.mlp.c_fc.bias", std::vector<int64_t>{16}),
        std::pair("h.0.mlp.c_proj.weight", std::vector<int64_t>{8, 16}),
        std::pair("wte.weight", std::vector<int64_t>{20, 8}),
        std::pair("lm_head.weight", std::vector<int64_t>{20, 8}),
        std::pair("lm_head.bias", std::vector<int64_t>{20})}) {
    const at::Tensor whole = at::randn(shape);
    at::Tensor again = at::zeros_like(whole);
    for (int part = 0; part < 4; ++part) {
      const Cut cut = CutOf(name, shape, part, 4);
      const at::Tensor taken = TakenPart(cut, whole);
      EXPECT_EQ(taken.sizes().vec(), ShapeOf(cut, shape)) << name;
      EXPECT_EQ(4 * taken.numel(), whole.numel()) << name;
      const at::Tensor place = PlaceOf(cut, again);
      place.copy_(taken.view(place.sizes()));
    }
    EXPECT_TRUE(at::equal(again, whole)) << name;
  }
  for (const char* name : {"wpe.weight", "ln_f.bias", "h.0.ln_1.weight", "h.0.attn.c_proj.bias",
                           "h.0.mlp.c_proj.bias"}) {
    EXPECT_TRUE(CutOf(name, {20, 8}, 1, 4).IsWhole()) << name;
  }
  for (const char* name : {"wte.weight", "lm_head.weight"}) {
    EXPECT_TRUE(CutOf(name, {21, 8}, 1, 4).IsWhole()) << name << " whose rows do not divide";
  }
}

TEST(ShardedHomeTest, APieceOfAPartIsFilledFromTheCompleteParameter) {
  const at::Tensor whole = at::arange(0, 4 * 6, at::kFloat).view({4, 6});
  for (int part = 0; part < 2; ++part) {
    std::vector<at::Tensor> pieces;
    for (int rank = 0; rank < 2; ++rank) {
      ShardedHome home(at::kCPU, rank, 2, ShardedHome::Rows::kComeAndGo, {part, 2});
      home.Keep("wte.weight", at::zeros({40}));
      EXPECT_EQ(home.Keep("h.0.mlp.c_proj.weight", at::zeros({4, 6})).sizes(),
                (std::vector<int64_t>{4, 3}));
      home.Close();
      const Piece& piece = home.pieces().at(1);
      EXPECT_EQ(piece.shape, (std::vector<int64_t>{4, 6}));
      Fill(piece, whole);
      pieces.push_back(piece.value.detach().clone());
    }
    EXPECT_TRUE(at::equal(at::cat(pieces), whole.narrow(1, 3 * part, 3).reshape({-1})));
  }
}

TEST(ShardedHomeTest, PiecesAndParametersAreViewsOfOneRow) {
  Held held(0, 2);
  const ShardedHome::Unit& root = held.home.units().at(0);
  EXPECT_EQ(root.row.numel() % (2 * kShardFloats), 0);
  EXPECT_EQ(root.shard.numel(), root.row.numel() / 2);
  const at::Tensor& embedding = root.members.at(0).parameter;
  EXPECT_EQ(embedding.sizes(), (std::vector<int64_t>{10, 8}));
  EXPECT_EQ(embedding.flatten()[13].item<float>(), 13);
  at::NoGradGuard no_grad;
  held.home.pieces()[0].value.fill_(7);
  EXPECT_EQ(embedding.flatten()[13].item<float>(), 7) << "the model uses the updated values";
  held.home.pieces()[0].value.grad().fill_(5);
  EXPECT_EQ(root.gradient[13].item<float>(), 5);
}

TEST(ShardedHomeTest, AShardedModelBeginsWithTheValuesOfAnUncutOne) {
  ModelSpec spec;
  spec.n_layer = 2;
  spec.n_head = 2;
  spec.n_embd = 16;
  spec.n_ff = 32;
  spec.n_positions = 8;
  spec.vocab_size = 32;
  spec.vocab_pad = 32;
  spec.bias = true;
  spec.tie_head = true;
  ShardedHome home(at::kCPU, 1, 3, ShardedHome::Rows::kStay);
  const Transformer sharded(spec, 5, home);
  const Transformer whole(spec, 5, at::Device(at::kCPU));
  ASSERT_EQ(sharded.Parameters().size(), whole.Parameters().size());
  for (size_t i = 0; i < whole.Parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(sharded.Parameters()[i].tensor, whole.Parameters()[i].tensor))
        << whole.Parameters()[i].name;
    EXPECT_EQ(home.pieces()[i].name, whole.Parameters()[i].name);
  }
}

}  // namespace
}  // namespace dt::trainer
