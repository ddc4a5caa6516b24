"""Items are added to the text of a kubeconfig and cut again; the rest stays as it was."""

from __future__ import annotations

import pytest
import yaml

from cli.editing import NEW, NotEditable, with_item, with_scalar, without_item

ITEM = {"name": "new", "cluster": {"server": "http://127.0.0.1:1", "extensions": [{"name": "e"}]}}

PERSONAL = """\
# my clusters
apiVersion: v1
kind: Config
clusters:
# production: careful
- cluster:
    server: https://prod   # behind the VPN
    certificate-authority-data: |
      abc
      def
  name: prod
  # a comment at the end of the list
preferences: {colors: true}
users:
- name: alice
  user: {token: a, unknown: [1, 2]}
contexts: []
current-context: prod
"""

INDENTED = "clusters:\n  - name: a\n    cluster:\n      server: x\n  - name: b\n    cluster:\n"

FORMS = {
    "comments": PERSONAL,
    "line ends of Windows": PERSONAL.replace("\n", "\r\n"),
    "without a last line end": PERSONAL.rstrip("\n"),
    "indented lists": INDENTED,
    "JSON": '{"clusters": [{"name": "a", "cluster": {}}], "current-context": "a"}\n',
    "JSON without items": "{}",
    "new": NEW,
    "only a comment": "# nothing yet\n",
    "no value": "clusters:\nusers: null\n",
    "empty list with a comment": "clusters: []  # none\nkind: Config\n",
    "list in the flow style": "clusters: [{name: a, cluster: {}}]\n",
    "a document": "---\nclusters:\n- name: a\n  cluster: {}\n",
    "a block scalar at the end": "clusters:\n- name: a\n  cluster:\n    data: |\n      x\n\n",
}


def clusters_of(text: str) -> list[object]:
    return list((yaml.safe_load(text) or {}).get("clusters") or ())


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_an_item_is_added_and_cut_and_the_rest_is_as_before(text: str) -> None:
    added = with_item(text, "clusters", ITEM)
    assert clusters_of(added) == [*clusters_of(text), ITEM]
    cut = without_item(added, "clusters", len(clusters_of(text)))
    assert clusters_of(cut) == clusters_of(text)
    if clusters_of(text):
        assert cut.rstrip("\r\n") == text.rstrip("\r\n")


def test_every_line_of_a_person_keeps_its_bytes() -> None:
    added = with_item(with_scalar(PERSONAL, "current-context", "new"), "clusters", ITEM)
    assert set(PERSONAL.splitlines()) - set(added.splitlines()) == {"current-context: prod"}
    assert with_scalar(without_item(added, "clusters", 1), "current-context", "prod") == PERSONAL


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_a_scalar_is_replaced_or_added(text: str) -> None:
    document = yaml.safe_load(text) or {}
    changed = with_scalar(text, "current-context", "new: #x")
    assert yaml.safe_load(changed) == document | {"current-context": "new: #x"}


@pytest.mark.parametrize("text", [PERSONAL, INDENTED, FORMS["JSON"]])
def test_the_first_item_can_be_cut(text: str) -> None:
    assert clusters_of(without_item(text, "clusters", 0)) == clusters_of(text)[1:]


@pytest.mark.parametrize("value", ["-010", "{a: 1, a: 2}"])
def test_a_form_that_would_be_damaged_is_refused(value: str) -> None:
    """A number that YAML 1.1 and 1.2 read otherwise; a key that is there twice."""
    with pytest.raises(NotEditable, match="cannot be changed in place"):
        with_item(f"preferences: {value}\n", "clusters", ITEM)


def test_an_item_may_be_an_alias_and_texts_stay_texts() -> None:
    text = "clusters:\n- name: a\n  cluster: &c\n    server: x\n- name: b\n  cluster: *c\n"
    item = {"name": "on", "cluster": {"server": "1:30", "count": 1}}
    added = with_item(text, "clusters", item)
    assert added.startswith(text)
    assert clusters_of(added)[-1] == item


def test_a_comment_beside_an_item_that_goes_is_kept() -> None:
    text = "clusters:\n- name: a\n  # of a, or of b\n- name: b\n# of users\nusers: []\n"
    assert "# of a, or of b" in without_item(text, "clusters", 0)
    assert "# of users" in without_item(text, "clusters", 1)
