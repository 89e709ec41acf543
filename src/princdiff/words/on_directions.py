"""Words on directions: how far apart the groups are along them, and whether a better one can exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from princdiff.words.readable_figures import NAMED, cut, group_names, listed, some

if TYPE_CHECKING:
    import pandas as pd

    from princdiff.result import DifferenceResult
    from princdiff.result.parts import ContrastPart

_KINDS = {"location": "a shift", "scale": "a change of spread", "shape": "a change of shape"}
_DIRECTION_FEATURES = 3
# A difference along a direction is called one of spread or shape if that is more than this part of it.
_MOSTLY = 0.6
# How much better a direction can be at most: what is called nothing, and what is called loose.
_NOTHING_MORE, _LOOSE = 0.0101, 0.25
# A feature's part this many times an even one stands out.
_STANDS_OUT = 2.0
# Standard deviations beyond which more of them mean nothing: groups do not overlap.
_NO_OVERLAP = 100
# Directions that are shown.
SIZE: Final = "largest difference in size"
SHARPEST: Final = "sharpest contrast"
SUM: Final = "sum of the scaled features"


def distance_sentence(result: DifferenceResult) -> str:
    """How far apart the groups are along the direction found, and what it is made of."""
    frame = result.table[result.table["weight"] != 0]
    if frame.empty:
        return "No direction tells them apart."
    order = frame["share"].fillna(frame["weight"] ** 2).sort_values(ascending=False, kind="stable").index
    columns = _columns_of(frame.loc[order])
    kind = _main_kind(result, frame)
    apart = _size(result, result.effect, *result.effect_interval, kind=kind)
    other = second_contrast(result)
    if other is None:
        direction = f"the direction found ({some(columns, _DIRECTION_FEATURES)})"
        clearest = _clearer_column(result)
        if clearest and columns != [clearest]:
            return f"They {apart} in {cut(clearest, 60)} alone, more than along {direction}."
        return f"Along {direction} they {apart}."
    size = f"{result.effect:.2g} along the {SIZE} ({some(columns, _DIRECTION_FEATURES)})"
    made_of = (
        f" ({some(contrast_columns(result, other), _DIRECTION_FEATURES)})" if other.name == SHARPEST else ""
    )
    return (
        f"Along the {other.name}{made_of} they {_size(result, other.effect, other.low, other.high)}, {size}."
    )


def _clearer_column(result: DifferenceResult) -> str:
    """The column in which groups are further apart than along the direction; or ""."""
    alone = result.columns[result.columns["selected"].astype(bool) & (result.columns["differs"] == "alone")]
    furthest = alone[alone["effect"] >= result.effect]
    return str(furthest["column"].iloc[0]) if len(furthest) and result.effect > 0 else ""


def _columns_of(features: pd.DataFrame) -> list[str]:
    """Columns of some features, each once; said of those that take part by their missing values alone."""
    only_gaps = (features["kind"] == "missing").groupby(features["column"]).all()
    return [f"missing {name}" if only_gaps[name] else str(name) for name in dict.fromkeys(features["column"])]


def second_contrast(result: DifferenceResult) -> ContrastPart | None:
    """A direction that tells the groups apart better than that of the largest difference in size."""
    return next((part for part in result.contrasts if part.name != SIZE), None)


def _main_kind(result: DifferenceResult, features: pd.DataFrame) -> str:
    """What most of the difference along the direction is; "location" where nothing else is, or of flags."""
    main = max(result.kind, key=lambda name: result.kind[name])
    flags = features["kind"].isin(["proportion", "missing"]).any()
    return "location" if flags or result.kind[main] <= _MOSTLY else main


def _size(result: DifferenceResult, effect: float, low: float, high: float, kind: str = "location") -> str:
    """How far apart groups are; where it is their spread or shape that differs, that it is no distance."""
    size, interval = size_and_interval(effect, low, high)
    unit = "standard deviation" if size == "1" else "standard deviations"
    bounds = f" ({interval})" if interval else ""
    average = " on average" if len(result.groups) > 2 else ""
    if kind != "location":
        return f"differ by {size} {unit}{average}{bounds}, mostly in {kind.replace('scale', 'spread')}"
    return f"are {size} {unit} apart{average}{bounds}"


def is_nothing(effect: float) -> bool:
    """Whether a distance would be shown as 0.00."""
    return bool(effect < 0.005)


def size_and_interval(effect: float, low: float, high: float) -> tuple[str, str]:
    """How far apart groups are and between which bounds, with digits enough to tell these apart.

    Examples
    --------
    >>> size_and_interval(1.994, 1.96, 2.03), size_and_interval(0.5, np.nan, np.nan)
    (('1.99', '1.96 to 2.03'), ('0.5', ''))
    >>> size_and_interval(7.4e5, 7.1e5, 7.5e5)
    ('more than 100', '')
    """
    if effect > _NO_OVERLAP:
        return f"more than {_NO_OVERLAP}", ""
    if np.isnan(low):
        return f"{effect:.2g}", ""
    # With many rows two digits would make an interval of one number.
    form = next((form for form in (".2g", ".3g", ".4g") if f"{low:{form}}" != f"{high:{form}}"), ".5g")
    return f"{effect:{form}}", f"{low:{form}} to {high:{form}}"


def contrast_columns(result: DifferenceResult, part: ContrastPart) -> list[str]:
    """Columns of the user's table that a direction is made of, the largest weight first."""
    origin = dict(zip(result.table["feature"], result.table["column"], strict=True))
    order = np.argsort(-np.abs(part.weights), kind="stable")
    names = [str(result.directions.index[place]) for place in order if part.weights[place] != 0]
    return list(dict.fromkeys(str(origin[name]) for name in names))


def contrast_sentence(result: DifferenceResult, part: ContrastPart) -> str:
    """One direction: its largest weights, and how well it tells the groups apart on rows held out."""
    order = np.argsort(-np.abs(part.weights), kind="stable")
    used = [place for place in order if part.weights[place] != 0]
    shown = [
        f"{part.weights[place]:+.2f} {cut(str(result.directions.index[place]), 40)}" for place in used[:6]
    ]
    more = f", and {len(used) - 6} more" if len(used) > 6 else ""
    sure = "" if np.isnan(part.auc) else f", area under the curve {part.auc:.2f}"
    return (
        f"{part.name[:1].upper()}{part.name[1:]}: {', '.join(shown)}{more} (of the scaled features); "
        f"{part.effect:.2g} standard deviations{sure}, on rows held out."
    )


def witness_sentences(result: DifferenceResult) -> list[str]:
    """What can be shown of a difference that is not along one direction."""
    found = result.witness
    if found is None:
        return []
    # The headline says where the test saw it.
    opening = found.sentence.removeprefix(result.test.leading).strip()
    lines = [opening] if opening else []
    if found.features:
        if found.parts[0] * len(result.table) < _STANDS_OUT and len(found.features) > 2:
            lines.append("All features take part about alike; none stands out.")
        else:
            named = [
                f"{cut(name, 40)} ({100 * part:.0f} %)"
                for name, part in zip(found.features[:NAMED], found.parts, strict=False)
            ]
            lines.append(f"Features that take part most: {', '.join(named)}.")
    rows = [
        f"{name}: {', '.join(map(str, found.typical[group]))}"
        for name, group in zip(group_names(result), result.groups, strict=True)
    ]
    lines.append(f"Rows most typical of their group (numbered from 0): {'; '.join(rows)}.")
    return lines


def component_facts(result: DifferenceResult, number: int) -> str:
    """How large the difference along a further direction is, of what kind, and whether it may be chance."""
    row = result.components.iloc[number].to_dict()
    main = max(_KINDS, key=lambda name: float(row[name]))
    pvalue = "" if np.isnan(row["pvalue"]) else f" (p = {row['pvalue']:.2g}, descriptive)"
    return f"{row['effect']:.2g} standard deviations{pvalue}, mostly {_KINDS[main]}."


def components_sentences(result: DifferenceResult) -> list[str]:
    """What further directions there are, and which groups each tells apart."""
    lines = [
        f"Component {number + 1}: {component_facts(result, number)}"
        for number in range(1, len(result.components))
    ]
    if len(result.groups) > 2:
        for number in range(len(result.components)):
            frame = result.separation_frame(number)
            values = np.where(np.triu(np.ones(frame.shape), 1) > 0, frame.to_numpy(), -np.inf)
            g, h = np.unravel_index(values.argmax(), values.shape)
            names = listed([str(frame.index[g]), str(frame.index[h])])
            which = "The direction" if len(result.components) == 1 else f"Component {number + 1}"
            lines.append(f"{which} tells {names} apart most.")
    return lines


def kind_sentence(result: DifferenceResult) -> str:
    """Whether the difference along the direction is mostly a shift, a change of spread or of shape."""
    main = max(result.kind, key=lambda name: result.kind[name])
    share = result.kind[main]
    amount = "mostly" if share > _MOSTLY else "in good part"
    return f"Along the direction the difference is {amount} {_KINDS[main]} ({100 * share:.0f} %)."


def certainty(result: DifferenceResult) -> str:
    """How much more any direction could separate the groups."""
    bound, value = result.upper_bound, float(result.divergences[0])
    if not np.isfinite(bound) or bound <= 0:
        return result.certificate.how or "No bound on the best possible direction was computed."
    allowed = result.certificate.n_features
    features = "" if allowed is None else f" with at most {allowed} feature{'s' if allowed > 1 else ''}"
    more = max(bound / value - 1, 0.0) if value > 0 else np.inf
    if second_contrast(result) is None:
        none, could = "separates the groups more", f"could separate the groups at most {_more(more)} more"
    else:
        # Relative to the variance along it another direction separates them more: the one shown beside it.
        none = "has a larger difference in size"
        could = f"could have a difference in size that is at most {_more(more)} larger"
    if result.certificate.kind != "certificate":
        return f"A direction{features} {could}, by an estimate."
    if more <= _NOTHING_MORE:
        return f"No direction{features} {none} (proved to within {_more(more)})."
    loose = (
        "" if more <= _LOOSE else "; the bound is loose here, as it often is with many features and few rows"
    )
    return f"A direction{features} {could} (proved){loose}."


def _more(share: float) -> str:
    """A share in per cent, rounded up to two digits."""
    if not np.isfinite(share):
        return "any amount"
    percent = max(100 * share, 0.01)
    digits = 1 - int(np.floor(np.log10(percent)))
    # what is a round number but for rounding stays one
    return f"{np.ceil(percent * 10.0**digits - 1e-5) / 10.0**digits:.6g} %"
