// SPDX-License-Identifier: Apache-2.0
#include "lab/with_edge.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace heddle::lab {

namespace {

using heddle::detail::OrchestratorServices;
using heddle::detail::Placement;
using heddle::detail::TaskRequest;

// Hands all calls on.
class Services : public OrchestratorServices {
 public:
  explicit Services(OrchestratorServices& inner) : inner_(inner) {
    rank = inner.rank;
    ranks = inner.ranks;
    round = inner.round;
    width = inner.width;
  }
  Placement place(TaskRequest& request) override { return inner_.place(request); }
  void commit() override { inner_.commit(); }
  std::uint64_t begin_scope(bool manual, const Location& location) override {
    return inner_.begin_scope(manual, location);
  }
  void end_scope(std::uint64_t scope) noexcept override { inner_.end_scope(scope); }
  bool settle(const heddle::detail::ArgRecord& element, const Location& location) override {
    return inner_.settle(element, location);
  }
  const heddle::detail::WindowTable* window(std::string_view name) override { return inner_.window(name); }
  const heddle::detail::WindowTable* alloc_window(const char* name, std::uint64_t bytes,
                                                  const Location& location) override {
    return inner_.alloc_window(name, bytes, location);
  }
  void fail(std::string message, const Location& location) override { inner_.fail(std::move(message), location); }
  bool stopped() const override { return inner_.stopped(); }

 private:
  OrchestratorServices& inner_;
};

class EdgeServices final : public Services {
 public:
  EdgeServices(OrchestratorServices& inner, const NamedEdge& edge) : Services(inner), edge_(edge) {}

  Placement place(TaskRequest& request) override {
    const std::string_view name = request.name.text;
    const auto given = request.after;
    if (name == edge_.to && !handles_.empty()) {
      lists_.assign(given.begin(), given.end());
      lists_.emplace_back(handles_);
      request.after = lists_;
    }
    const Placement placement = Services::place(request);
    request.after = given;
    if (name == edge_.to) forget_from(0);
    if (name == edge_.from && placement.closure != nullptr) {
      handles_.push_back(placement.handle);
      depths_.push_back(depth_);
    }
    return placement;
  }
  std::uint64_t begin_scope(bool manual, const Location& location) override {
    ++depth_;
    return Services::begin_scope(manual, location);
  }
  void end_scope(std::uint64_t scope) noexcept override {
    const auto first = std::find_if(depths_.begin(), depths_.end(), [this](int depth) { return depth >= depth_; });
    forget_from(static_cast<std::size_t>(first - depths_.begin()));
    --depth_;
    Services::end_scope(scope);
  }

 private:
  void forget_from(std::size_t first) noexcept {
    handles_.resize(first);
    depths_.resize(first);
  }

  const NamedEdge& edge_;
  int depth_ = 0;
  std::vector<TaskHandle> handles_;  // of tasks in scopes that are open
  std::vector<int> depths_;          // of their scopes; never falls
  std::vector<std::span<const TaskHandle>> lists_;
};

class NameServices final : public Services {
 public:
  NameServices(OrchestratorServices& inner, const std::shared_ptr<NamesSeen>& names) : Services(inner), names_(names) {}
  Placement place(TaskRequest& request) override {
    names_->submitted(rank, request.name.text);
    return Services::place(request);
  }

 private:
  const std::shared_ptr<NamesSeen>& names_;
};

// A program whose ranks are given other services.
template <class Extra, class Made>
class Wrapped final : public ProgramBase {
 public:
  Wrapped(std::shared_ptr<ProgramBase> inner, Extra extra) : inner_(std::move(inner)), extra_(std::move(extra)) {}
  void parameters(ParameterList& list) override { inner_->parameters(list); }
  Defaults defaults() const override { return inner_->defaults(); }
  std::vector<Variant> matrix() const override { return inner_->matrix(); }
  int phases() const override { return inner_->phases(); }
  void plan(Plan& plan) const override { inner_->plan(plan); }
  void rank(Orchestrator& graph, const Io& io) const override {
    Made made(graph.services(), extra_);
    Orchestrator orchestrator(made);
    inner_->rank(orchestrator, io);
  }
  void fill(HostIo& io) const override { inner_->fill(io); }
  void check(const HostIo& io) const override { inner_->check(io); }

 private:
  std::shared_ptr<ProgramBase> inner_;
  Extra extra_;
};

}  // namespace

void NamesSeen::submitted(int rank, const char* name) {
  const std::lock_guard guard(mutex_);
  auto of = std::find_if(ranks_.begin(), ranks_.end(), [rank](const auto& each) { return each.first == rank; });
  if (of == ranks_.end()) of = ranks_.insert(ranks_.end(), {rank, {}});
  auto& names = of->second;
  for (const std::string& before : names) {
    NamedEdge pair{before, name};
    if (std::find(pairs_.begin(), pairs_.end(), pair) == pairs_.end()) pairs_.push_back(std::move(pair));
  }
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

std::vector<NamedEdge> NamesSeen::pairs() const {
  const std::lock_guard guard(mutex_);
  return pairs_;
}

std::shared_ptr<ProgramBase> with_edge(std::shared_ptr<ProgramBase> program, NamedEdge edge) {
  return std::make_shared<Wrapped<NamedEdge, EdgeServices>>(std::move(program), std::move(edge));
}
std::shared_ptr<ProgramBase> with_names(std::shared_ptr<ProgramBase> program, std::shared_ptr<NamesSeen> names) {
  return std::make_shared<Wrapped<std::shared_ptr<NamesSeen>, NameServices>>(std::move(program), std::move(names));
}

}  // namespace heddle::lab
