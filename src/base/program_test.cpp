// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <heddle/program.hpp>
#include <string>

namespace heddle {
namespace {

template <class F>
std::string refusal(F&& call, Code code = Code::invalid_argument) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.message();
  }
  return "nothing was refused";
}

TEST(Plan, keeps_what_is_declared_in_order) {
  Plan plan(1, 4);
  plan.input<float>("x", {4, 8});
  plan.output<bf16>("y", {16});
  plan.window("inbox", 1024);
  ASSERT_EQ(plan.tensors().size(), 2U);
  EXPECT_EQ(plan.tensors()[0].bytes(), 128U);
  EXPECT_EQ(plan.tensors()[1].type, DType::bf16);
  EXPECT_EQ(plan.tensors()[1].bytes(), 32U);
  ASSERT_EQ(plan.windows().size(), 1U);
  EXPECT_EQ(plan.windows()[0].bytes, 1024U);
}

TEST(Plan, refuses_names_shapes_and_sizes_that_cannot_be) {
  Plan plan(0, 1);
  plan.input<float>("x", {4});
  plan.window("w", 8);
  EXPECT_EQ(refusal([&] { plan.output<int>("x", {4}); }), "plan: output \"x\": the name is taken");
  EXPECT_EQ(refusal([&] { plan.output<int>("", {4}); }), "plan: output \"\": the name is empty");
  EXPECT_EQ(refusal([&] { plan.input<int>("a", {}); }), "plan: input \"a\": 0 dimensions, but a tensor has 1 to 5");
  EXPECT_EQ(refusal([&] { plan.input<int>("a", {1, 1, 1, 1, 1, 1}); }),
            "plan: input \"a\": 6 dimensions, but a tensor has 1 to 5");
  EXPECT_EQ(refusal([&] { plan.inout<int>("a", {3, 0}); }),
            "plan: inout \"a\": dimension 1 has extent 0, but an extent is at least 1");
  EXPECT_EQ(refusal([&] { plan.inout<int>("a", {-3}); }),
            "plan: inout \"a\": dimension 0 has extent -3, but an extent is at least 1");
  EXPECT_EQ(refusal([&] { plan.input<int>("a", {1 << 20, (1 << 18) + 1}); }),
            "plan: input \"a\": shape [1048576, 262145] with elements of 4 bytes takes more than 1 TiB");
  EXPECT_EQ(refusal([&] { plan.input<int>("a", {INT64_MAX, INT64_MAX}); }),
            "plan: input \"a\": shape [9223372036854775807, 9223372036854775807] with elements of 4 bytes takes more "
            "than 1 TiB");
  EXPECT_EQ(refusal([&] { plan.window("w", 8); }), "plan: window \"w\": the name is taken");
  EXPECT_EQ(refusal([&] { plan.window("v", 0); }),
            "plan: window \"v\": 0 bytes, but a window has 1 byte to 1 TiB a rank");
  EXPECT_EQ(refusal([&] { plan.window("v", (1ULL << 40U) + 1); }),
            "plan: window \"v\": 1099511627777 bytes, but a window has 1 byte to 1 TiB a rank");
  plan.input<std::byte>("largest", {1LL << 40U});
  EXPECT_EQ(plan.tensors().size(), 2U);
  EXPECT_EQ(plan.windows().size(), 1U);
}

struct DeclaredTensors : testing::Test {
  DeclaredTensors() {
    plan.input<float>("x", {4});
    plan.output<float>("result", {2, 2});
    table = {&plan.tensors(), {reinterpret_cast<std::byte*>(x), reinterpret_cast<std::byte*>(result)}};
  }
  Plan plan{0, 1};
  float x[4] = {1, 2, 3, 4};
  float result[4] = {};
  detail::IoTable table;
};

TEST_F(DeclaredTensors, are_found_by_name_type_and_rank) {
  const Io io(table);
  EXPECT_EQ(io.input<float>("x").strided().data, x);
  const auto result_tensor = io.output<float, 2>("result");
  EXPECT_EQ(result_tensor.strided().data, result);
  EXPECT_EQ(result_tensor.shape(1), 2);
  HostIo host(table, 3, 4, 7, 0);
  host.input<float>("x")[3] = 9;
  EXPECT_EQ(host.tensor<float>("x")[3], 9);
  EXPECT_EQ(host.tensor<float>("result").size(), 4U);
}

TEST_F(DeclaredTensors, are_refused_under_another_name_type_rank_or_use) {
  const Io io(table);
  EXPECT_EQ(refusal([&] { io.output<float>("resullt"); }),
            "there is no tensor \"resullt\" (did you mean \"result\"?): the plan declares x, result");
  EXPECT_EQ(refusal([&] { io.output<float>("z"); }), "there is no tensor \"z\": the plan declares x, result");
  EXPECT_EQ(refusal([&] { io.output<float>("x"); }),
            "tensor \"x\" is declared as input f32 [4], which tasks do not write");
  EXPECT_EQ(refusal([&] { io.input<int>("x"); }),
            "tensor \"x\" is declared as input f32 [4], not with elements of i32");
  EXPECT_EQ(refusal([&] { io.output<float>("result"); }),
            "tensor \"result\" is declared as output f32 [2, 2], not with 1 dimension");
  const std::vector<Plan::TensorSpec> none;
  const detail::IoTable empty{&none, {}};
  EXPECT_EQ(refusal([&] { Io(empty).input<float>("x"); }), "there is no tensor \"x\": the plan declares none");
}

TEST_F(DeclaredTensors, a_check_that_fails_is_the_programs_own_error) {
  const HostIo host(table, 3, 4, 7, 0);
  host.expect(true, "never said");
  try {
    host.expect(false, "x[3] is 9, not 4");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "user_error (9): x[3] is 9, not 4 [rank 3]");
    EXPECT_EQ(error.round(), 7);
  }
}

struct Parameters : testing::Test {
  Parameters() {
    list.add("padded", padded, "");
    list.add("rows", rows, "", 1, 1024);
    list.add("seed", seed, "");
    list.add("factor", factor, "", 0.5);
    list.add("small", small, "");
    list.add("variant", variant, "", {"payload", "notify"});
    list.add("label", label, "");
  }
  bool padded = false;
  int rows = 128;
  std::int64_t seed = 0;
  double factor = 1;
  float small = 0;
  std::string variant = "payload", label;
  ParameterList list;
};

TEST_F(Parameters, take_values_of_their_type) {
  for (const char* yes : {"true", "1", "yes", "on"}) {
    padded = false;
    list.set("padded", yes);
    EXPECT_TRUE(padded) << yes;
  }
  for (const char* no : {"false", "0", "no", "off"}) {
    padded = true;
    list.set("padded", no);
    EXPECT_FALSE(padded) << no;
  }
  list.set("rows", "1024");
  EXPECT_EQ(rows, 1024);
  list.set("seed", "-900000000000000000");
  EXPECT_EQ(seed, -900000000000000000);
  list.set("factor", "2.5e3");
  EXPECT_EQ(factor, 2500);
  list.set("small", "0.25");
  EXPECT_EQ(small, 0.25F);
  list.set("variant", "notify");
  EXPECT_EQ(variant, "notify");
  list.set("label", "any text = at all");
  EXPECT_EQ(label, "any text = at all");
}

TEST_F(Parameters, tell_their_present_values) {
  std::string values;
  list.set("factor", "0.75");
  for (const auto& parameter : list.all()) values += parameter.name + "=" + parameter.value() + " ";
  EXPECT_EQ(values, "padded=false rows=128 seed=0 factor=0.75 small=0 variant=payload label= ");
}

TEST_F(Parameters, refuse_other_values_and_keep_theirs) {
  const auto set = [&](const char* name, const char* value) { return refusal([&] { list.set(name, value); }); };
  EXPECT_EQ(set("padded", "maybe"), "parameter \"padded\": \"maybe\" is neither true nor false");
  EXPECT_EQ(set("rows", "12x"), "parameter \"rows\": \"12x\" is not a whole number");
  EXPECT_EQ(set("rows", ""), "parameter \"rows\": \"\" is not a whole number");
  EXPECT_EQ(set("rows", "1.5"), "parameter \"rows\": \"1.5\" is not a whole number");
  EXPECT_EQ(set("rows", "0"), "parameter \"rows\": \"0\" is out of range: allowed is from 1 to 1024");
  EXPECT_EQ(set("rows", "99999999999999999999"),
            "parameter \"rows\": \"99999999999999999999\" is out of range: allowed is from 1 to 1024");
  EXPECT_EQ(set("seed", "2000000000000000000"),
            "parameter \"seed\": \"2000000000000000000\" is out of range: allowed is from -1e+18 to 1e+18");
  EXPECT_EQ(set("factor", "0.25"), "parameter \"factor\": \"0.25\" is out of range: allowed is at least 0.5");
  EXPECT_EQ(set("factor", "nan"), "parameter \"factor\": \"nan\" is not a number");
  EXPECT_EQ(set("factor", "fast"), "parameter \"factor\": \"fast\" is not a number");
  EXPECT_EQ(set("small", "1e30"), "parameter \"small\": \"1e30\" is out of range: allowed is from -1e+18 to 1e+18");
  EXPECT_EQ(set("variant", "notfy"),
            "parameter \"variant\": \"notfy\" is not one of payload, notify (did you mean \"notify\"?)");
  EXPECT_EQ(set("label2\n", "x"),
            "there is no parameter \"label2?\" (did you mean \"label\"?): this program has padded, rows, "
            "seed, factor, small, variant, label");
  EXPECT_FALSE(padded);
  EXPECT_EQ(rows, 128);
  EXPECT_EQ(seed, 0);
  EXPECT_EQ(factor, 1);
  EXPECT_EQ(variant, "payload");
}

TEST_F(Parameters, limits_of_an_int_are_those_of_its_type_when_none_are_given) {
  int number = 0;
  list.add("number", number, "");
  EXPECT_EQ(refusal([&] { list.set("number", "2147483648"); }),
            "parameter \"number\": \"2147483648\" is out of range: allowed is from -2147483648 to 2147483647");
}

TEST_F(Parameters, refuse_a_name_twice) {
  EXPECT_EQ(refusal([&] { list.add("rows", rows, ""); }), "parameter \"rows\": the name is taken");
  ParameterList none;
  EXPECT_EQ(refusal([&] { none.set("rows", "1"); }), "there is no parameter \"rows\": this program has none");
}

}  // namespace
}  // namespace heddle
