"""The result in words: what a person who is no statistician reads first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from princdiff.result import DifferenceResult

LEVEL = 0.05
_KINDS = {"location": "a shift", "scale": "a change of spread", "shape": "a change of shape"}


def headline(result: DifferenceResult) -> str:
    """The answer in one or two sentences."""
    names = _listed(list(result.groups))
    pvalue = format_pvalue(result)
    if np.isnan(result.pvalue):
        return f"The groups {names} were not tested. {carriers(result)} {kind_sentence(result)}"
    if not result.pvalue <= LEVEL:
        return f"No difference between {names} could be shown ({pvalue})."
    return f"The groups {names} differ ({pvalue}). {carriers(result)} {kind_sentence(result)}"


def format_pvalue(result: DifferenceResult) -> str:
    """P-value with as many digits as it deserves."""
    if np.isnan(result.pvalue):
        return "not tested"
    return f"p = {result.pvalue:.2g}"


def carriers(result: DifferenceResult) -> str:
    """How many columns carry how much of the difference."""
    shares = result.by_column()
    if result.divergences[0] < 0:
        return f"The groups overlap along every direction ({_name(result)} {result.divergences[0]:.3g})."
    if shares.isna().all():
        return _weighted(result)
    total, count = 0.0, 0
    for share in shares:
        if total >= 0.8 or share <= 0:
            break
        total, count = total + float(share), count + 1
    if count == 0:
        return "No single feature carries it."
    leading = _listed([str(name) for name in shares.index[: min(count, 3)]])
    noun, verb = ("feature", "carries") if count == 1 else ("features", "carry")
    more = "" if count <= 3 else f", {leading} foremost"
    which = f" ({leading})" if count <= 3 else ""
    return f"{_number(count)} {noun}{which} {verb} {100 * total:.0f} % of the difference{more}."


def _weighted(result: DifferenceResult) -> str:
    """As `carriers`, for a divergence that has no shares."""
    frame = result.table[result.table["weight"] != 0]
    columns = list(dict.fromkeys(map(str, frame["column"])))
    if not columns:
        return "No single feature carries it."
    noun = "feature" if len(columns) == 1 else "features"
    which = f"{_listed(columns[:3])}{' foremost' if len(columns) > 3 else ''}"
    return (
        f"The direction uses {_number(len(columns)).lower()} {noun} ({which}); {_name(result)} does not "
        "depend on scale, so shares are not defined."
    )


def _name(result: DifferenceResult) -> str:
    return str(result.parameters.get("divergence", "wasserstein2")).replace("_", " ")


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
            names = _listed([str(frame.index[g]), str(frame.index[h])])
            lines.append(f"Component {number + 1} tells {names} apart most.")
    return lines


def kind_sentence(result: DifferenceResult) -> str:
    """Whether it is mostly a shift, a change of spread or of shape, and how large."""
    main = max(result.kind, key=lambda name: result.kind[name])
    share = result.kind[main]
    amount = "mostly" if share > 0.6 else "in good part"
    size = f"{result.effect:.2g} standard deviations along the direction found"
    return f"It is {amount} {_KINDS[main]} ({100 * share:.0f} %), of {size}."


def certainty(result: DifferenceResult) -> str:
    """How far below the global optimum the direction can be."""
    bound = result.upper_bound
    if not np.isfinite(bound) or bound <= 0:
        return result.certificate.get("how", "No bound on the best possible direction was computed.")
    gap = max(0.0, 1 - float(result.divergences[0]) / bound)
    proven = result.certificate.get("kind") == "certificate"
    words = "is at most" if proven else "is, by an estimate that is no proof, about"
    amount = "0.01" if gap < 1e-4 else f"{100 * gap:.2g}"
    sentence = f"The direction found {words} {amount} % below the best possible one."
    if gap > 0.2:
        sentence += " The bound is loose here, as it often is with many features and few rows."
    return sentence


def test_sentence(result: DifferenceResult) -> str:
    """Which test was made."""
    test = result.test
    if test.get("name") == "permutation":
        how = "all" if test.get("exact") else "random"
        return (
            f"Permutation test, {test['n_permutations']} {how} relabellings; "
            f"no p-value below {test['smallest_attainable_pvalue']:.2g} is possible here."
        )
    if test.get("name") == "split":
        return f"Split test: {test['rule']}; the direction was fitted on other rows than tested."
    return "No test was made."


def summary(result: DifferenceResult) -> str:
    """Several lines: the answer, the leading features, the test, how sure the optimum is, and notes."""
    sizes = ", ".join(f"{name}: {size} rows" for name, size in result.groups.items())
    lines = [headline(result), "", f"Compared: {sizes}; {len(result.table)} features.", ""]
    shown = result.table[result.table["weight"] != 0].head(10)
    width = max([len("feature"), *(min(len(str(name)), 40) for name in shown["feature"])])
    lines.append(f"{'feature':{width}}  {'share':>6}  {'weight':>7}  {'selected':>8}  kind")
    for row in shown.itertuples():
        lines.append(
            f"{_cut(str(row.feature), 40):{width}}  {percent(row.share):>6}  {row.weight:7.3f}  "
            f"{'yes' if row.selected else '-':>8}  {_main_kind(row)}"
        )
    hidden = int((result.table["weight"] != 0).sum()) - len(shown)
    if hidden > 0:
        lines.append(f"... and {hidden} more with a weight")
    lines += ["", *components_sentences(result), test_sentence(result), certainty(result)]
    lines.append(selection_sentence(result))
    lines += [f"Note: {note}" for note in result.notes]
    return "\n".join(lines)


def selection_sentence(result: DifferenceResult) -> str:
    """What the selected features are."""
    count = len(result.selected)
    control = result.selection.get("control", "")
    if not control:
        return "Features were not selected."
    return f"{_number(count)} feature{'s' if count != 1 else ''} selected; {control}."


def percent(share: float) -> str:
    """A share, or a dash where it is not defined."""
    return "-" if np.isnan(share) else f"{100 * share:.1f}%"


def _main_kind(row: object) -> str:
    parts = {name: getattr(row, name) for name in _KINDS}
    return max(parts, key=lambda name: parts[name]) if sum(parts.values()) > 0 else "-"


def _listed(names: list[str]) -> str:
    names = [_cut(name, 60) for name in names]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _number(count: int) -> str:
    words = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
    return words[count] if count < len(words) else str(count)
