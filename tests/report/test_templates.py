"""Templates: everything is escaped, nothing is missing silently, data cannot leave its element."""

from __future__ import annotations

import json

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from grande_gnn.report.templates import asset, json_markup, render_template


def test_values_are_escaped_unless_they_are_markup():
    text = render_template("settings_table", settings={"<b>": Markup("<i>kept</i>")})
    assert isinstance(text, Markup)
    assert "&lt;b&gt;" in text
    assert "<i>kept</i>" in text


def test_a_missing_value_is_an_error():
    with pytest.raises(UndefinedError, match="settings"):
        render_template("settings_table")


@pytest.mark.parametrize("name", ["</script>", "<!--", "&amp;", "\u2028", "\udcff"])
def test_data_holds_no_character_that_ends_its_element(name):
    text = json_markup({"name": name})
    assert not set(text) & set("<>&")
    assert json.loads(text) == {"name": name}


def test_the_assets_are_part_of_the_package():
    assert all(asset(name) for name in ("page.js", "map.js", "report.css"))
