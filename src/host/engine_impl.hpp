// SPDX-License-Identifier: Apache-2.0
//
// The bodies of Engine, Rank and HostBlock, for who instantiates them.
#pragma once

#include "host/block_services.hpp"
#include "host/engine.hpp"
#include "host/engine_run.hpp"
#include "host/engine_verdict.hpp"
#include "host/rank_run.hpp"
