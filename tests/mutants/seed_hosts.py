"""Mutants of what the design documents say of host constraints (docs/seeds.md)"""

from __future__ import annotations

from tests.mutants.planting import Mutant

MUTANTS = (
    Mutant(
        "all hosts that have names are one",
        "planner/fusion/placing.py",
        "one_form",
        "return host",
        'return "host"',
        (
            "tests/e2e/test_placement.py",
            "-k",
            "test_hosts_that_exclude_each_other_raise_the_number_of_pes_above_the_request",
        ),
    ),
    Mutant(
        "a PE forgets the host of its operators",
        "planner/fusion/placing.py",
        "place_of",
        "hosts.add(own.host)",
        "pass",
        (
            "tests/e2e/test_placement.py",
            "-k",
            "test_operators_of_one_host_share_a_pe_whose_pod_asks_once",
        ),
    ),
    Mutant(
        "a host that does not exist is any host",
        "placement/contradicting.py",
        "missing",
        "if host and cluster.node_of(host) is None:",
        "if False:",
        (
            "tests/e2e/test_placement_refusals.py",
            "-k",
            "test_each_demand_that_cannot_be_met_is_refused_by_name_and_leaves_nothing",
        ),
    ),
    Mutant(
        "partitions that are ex-located share a PE",
        "planner/fusion/profiles.py",
        "conflict",
        '(_apart(unit.exlocations, others.exlocations), "partitions are ex-located (CDISR3204E)"),',
        "",
        (
            "tests/unit/planner/test_automatic.py",
            "-k",
            "test_what_may_not_share_a_pe_does_not",
        ),
    ),
    Mutant(
        "names of hosts are compared without their case",
        "placement/cluster.py",
        "Cluster.node_of",
        "self.index.get(host)",
        "self.index.get(host.lower())",
        (
            "tests/e2e/test_placement_claims.py",
            "-k",
            "test_what_is_no_address_is_a_name_and_names_are_exact",
        ),
    ),
    Mutant(
        "no node has an address",
        "placement/cluster.py",
        "addresses_of",
        "for address in {normalised(each) or each for each in node.addresses}:",
        "for address in ():",
        (
            "tests/e2e/test_placement.py",
            "-k",
            "test_every_way_to_ask_for_a_host_leads_to_it",
        ),
    ),
    Mutant(
        "addresses are compared as they are spelt",
        "planner/fusion/placing.py",
        "one_form",
        "return str(ip_address(host))",
        "return host",
        (
            "tests/unit/planner/test_places.py",
            "-k",
            "test_operators_of_one_host_share_a_pe_however_its_address_is_written",
        ),
    ),
    Mutant(
        "an address that no node has is that of the first one",
        "placement/cluster.py",
        "Cluster.node_of",
        "self.addresses.get(address, ())",
        "self.addresses.get(address, (0,))",
        (
            "tests/e2e/test_placement_refusals.py",
            "-k",
            "test_each_demand_that_cannot_be_met_is_refused_by_name_and_leaves_nothing",
        ),
    ),
    Mutant(
        "the members of a pool of names are in the order of the cluster",
        "placement/cluster.py",
        "Cluster.named",
        "return tuple(found.values())",
        "return tuple(sorted(found.values()))",
        (
            "tests/e2e/test_placement_pools.py",
            "-k",
            "test_pools_of_names_and_addresses_keep_the_order_of_the_application",
        ),
    ),
    Mutant(
        "of several tags of a pool the last one is enough",
        "placement/cluster.py",
        "Cluster.with_tags",
        "found &= self.tagged.get(tag, np.zeros(len(self), bool))",
        "found = self.tagged.get(tag, np.zeros(len(self), bool))",
        (
            "tests/unit/placement/test_deciding.py",
            "-k",
            "test_an_exclusive_pool_takes_no_node_that_somebody_has_or_uses",
        ),
    ),
    Mutant(
        "a member that lost its tag is given up",
        "placement/checking.py",
        "_View._bound_in",
        "if not self.bound:",
        "if True:",
        (
            "tests/unit/placement/test_checking.py",
            "-k",
            "test_a_member_that_lost_the_tag_of_its_pool_stays_while_a_pod_is_bound_to_it",
        ),
    ),
    Mutant(
        "the label of a token carries another digest",
        "contracts/labels.py",
        "host_token_label",
        "hashlib.sha1(",
        "hashlib.md5(",
        (
            "tests/unit/contracts/test_labels.py",
            "-k",
            "test_the_key_carries_the_lower_case_sha_1_of_the_token",
        ),
    ),
    Mutant(
        "the value of a label is the token as it is",
        "contracts/labels.py",
        "host_token_label",
        "label_value(token)",
        "token",
        (
            "tests/unit/contracts/test_labels.py",
            "-k",
            "test_the_label_of_a_token_that_is_no_value_has_a_valid_one",
        ),
    ),
    Mutant(
        "isolated operators are not distinguished",
        "planner/fusion/placing.py",
        "place_of",
        "isolated.append(topology.operators[index].name)",
        'isolated.append("isolated")',
        (
            "tests/unit/planner/test_places.py",
            "-k",
            "test_the_isolated_operators_of_a_pe_are_named_one_by_one",
        ),
    ),
)
