"""Pictures: what they show is what the result says, whatever the names, however many groups."""

import dataclasses

import matplotlib.pyplot as plt
import numpy as np
import pytest
from made_up import NAMES, made_up, mixed

from princdiff.result.parts import PathPart, TestPart
from princdiff.show import charts, feature_plots, plots

MATHS = [r"$\frac$", "$", "a $ b $ c", r"\alpha$^$", "_{x", "two\nlines", *NAMES]


def _draw(ax) -> None:
    """Drawing is when matplotlib meets names it cannot read."""
    figure = ax.figure if hasattr(ax, "figure") else ax[0].figure
    figure.draw_without_rendering()
    plt.close(figure)


def _texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_levels_are_bars_of_their_proportions_the_largest_change_first():
    result = mixed()
    ax = result.plot_feature("plan")
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[:3] == ["free", "pro", "gold"]
    widths = [bar.get_width() for bar in ax.patches]
    table = result.table.set_index("feature")
    for place, level in enumerate(labels):
        for group, name in enumerate(("before", "after")):
            assert widths[group * 5 + place] == pytest.approx(table.at[f"plan = {level}", f"mean {name}"])
    assert ["40 %", "20 %"] == [_texts(ax)[0], _texts(ax)[5]]
    # The longest bar and its figure stay inside.
    assert ax.get_xlim()[0] == 0
    assert ax.get_xlim()[1] > max(widths)


def test_flags_and_missing_values_are_bars_too():
    result = mixed()
    assert _texts(result.plot_feature("active")) == ["50 %", "70 %"]
    assert _texts(result.plot_feature("active = yes")) == ["50 %", "70 %"]
    assert _texts(result.plot_feature("age (missing)")) == ["3 %", "25 %"]


def test_numbers_are_histograms_and_few_values_bars_at_them():
    result = mixed()
    assert result.plot_feature("age").get_xlabel() == "age"
    assert len(result.plot_feature("income").patches) == 4
    ax = result.plot_feature("visits")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2", "3", "6"]
    heights = [bar.get_height() for bar in ax.patches]
    stored = result.distributions["visits"].shares
    assert heights == pytest.approx([*stored["before"], *stored["after"]])


def test_what_cannot_be_drawn_is_said():
    result = dataclasses.replace(mixed(), distributions={})
    with pytest.raises(ValueError, match="no column or feature is called 'nobody'"):
        result.plot_feature("nobody")
    with pytest.raises(ValueError, match="no distribution of 'income' is kept"):
        result.plot_feature("income")
    with pytest.raises(ValueError, match="no pairs of features"):
        made_up().plot_relations()
    with pytest.raises(ValueError, match="no null distribution"):
        dataclasses.replace(result, test=TestPart()).plot_null()
    with pytest.raises(ValueError, match="no path"):
        dataclasses.replace(result, path=PathPart()).plot_path()


def test_columns_are_drawn_with_their_sizes_and_changes():
    result = mixed()
    ax = result.plot_columns(top=4)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["plan", "income", "active", "age"]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([0.9, 0.6, 0.4, 0.5])
    assert _texts(ax)[1] == "mean 100 → 150"
    assert ax.get_title(loc="left") == "before and after: p = 0.01"
    # Where none differs the largest come first, in grey.
    nothing = dataclasses.replace(result, columns=result.columns.assign(selected=False))
    ax = nothing.plot_columns(top=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["plan", "income"]
    assert {bar.get_facecolor()[:3] for bar in ax.patches} == {(0.75, 0.75, 0.75)}


def test_the_projection_says_how_sure_and_how_far():
    result = mixed()
    assert result.plot_projection().get_title(loc="left") == "p = 0.01, 1.4 standard deviations apart"
    assert result.plot_projection(component=1).get_title(loc="left").startswith("component 2: 1.4 standard")


def test_correlations_are_told_group_by_group():
    result = mixed()
    ax = result.plot_relations()
    first = result.relations[result.relations["selected"]].iloc[0]
    assert ax.get_yticklabels()[0].get_text() == f"{first['first']}, {first['second']}"
    dots = [
        drawn.get_offsets()[0, 0]
        for drawn in ax.collections
        if len(drawn.get_offsets()) and drawn.get_zorder() == 2
    ]
    assert dots == pytest.approx([0.8, -0.3])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["before", "after"]
    given = plt.subplots()[1]
    assert mixed(groups=("a", "b", "c")).plot_relations(top=2, ax=given) is given


def test_no_legend_lies_over_what_is_drawn():
    result = mixed()
    for ax in (
        result.plot_projection(),
        result.plot_feature("age"),
        result.plot_feature("plan"),
        result.plot_null(),
    ):
        ax.figure.canvas.draw()
        legend = ax.get_legend().get_window_extent()
        shapes = [*ax.lines, *ax.patches, *ax.texts]
        assert not any(
            legend.overlaps(shape.get_window_extent()) for shape in shapes if not _across(ax, shape)
        )


def _across(ax, shape):
    """Lines at one place reach from the bottom to the top, as do arrows to where the figure is."""
    return shape in ax.lines and len(shape.get_xdata()) <= 2


@pytest.mark.filterwarnings("ignore:Glyph")
def test_no_name_breaks_a_picture():
    result = made_up(names=MATHS, groups=(r"$\frac$", "a_{b} $"))
    _draw(result.plot_columns(top=20))
    _draw(result.plot_projection())
    _draw(result.plot_weights(top=20))
    for name in MATHS:
        _draw(result.plot_feature(name))
    _draw(feature_plots.bars(MATHS, {r"$\frac$": np.linspace(0, 1, len(MATHS))}, r"$\frac$"))
    own = np.linspace(-1, 1, len(MATHS))
    _draw(feature_plots.correlations([(name, name) for name in MATHS], {r"$\frac$": own, "b$": -own}))
    _draw(plots.scatter(np.zeros((2, 2)), [r"$\frac$", "b"]))
    _draw(plots.projection(np.arange(4.0), [r"$\frac$", r"$\frac$", "b", "b"]))


def test_long_names_are_shortened_and_stay_apart():
    names = [f"a very long name of a measurement that nobody can read, number {j}" for j in range(12)]
    ax = made_up(names=names).plot_columns()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(set(labels)) == len(labels)
    assert max(map(len, labels)) <= 32


def test_many_groups_are_told_apart_and_leave_room_for_the_curves():
    groups = tuple(f"group {letter}" for letter in "abcdefghijklmnopqr")
    result = mixed(groups=groups)
    for ax in (result.plot_projection(), result.plot_feature("income"), result.plot_feature("plan")):
        assert len(ax.get_legend().get_texts()) == 18
        _draw(ax)
        legend = ax.get_legend().get_window_extent()
        assert legend.x0 >= ax.get_window_extent().x1
    lines = result.plot_projection().lines
    looks = {(line.get_color(), line.get_linestyle()) for line in lines}
    assert len(looks) == 18


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_the_legend_of_a_projection_covers_no_curve(n_groups):
    rng = np.random.default_rng(0)
    groups = np.repeat([f"group {place}" for place in range(n_groups)], 200)
    ax = plots.projection(rng.normal(size=len(groups)), groups)
    ax.figure.canvas.draw()
    legend, picture = ax.get_legend().get_window_extent(), ax.get_window_extent()
    highest = max(line.get_ydata().max() for line in ax.lines)
    assert legend.x0 >= picture.x1 or legend.y0 > ax.transData.transform((0, highest))[1]
    plt.close(ax.figure)


def test_both_kinds_of_pictures_draw_the_same_curves():
    rng = np.random.default_rng(0)
    groups = {"a": np.sort(rng.normal(size=99)), "b": np.sort(rng.exponential(size=99))}
    rows = {"a": 40, "b": 4000}
    ax = plots.quantile_densities(groups, (np.arange(99) + 0.5) / 99, rows=rows)
    values = charts.projection(list(groups.values()), list(rows.values()), list(groups))["datasets"]
    for place, line in enumerate(ax.lines[:2]):
        own = [(point["x"], point["y"]) for point in values["curves"] if point["group"] == place]
        assert np.allclose(np.column_stack(line.get_data()), own, rtol=1e-3, atol=1e-3)
