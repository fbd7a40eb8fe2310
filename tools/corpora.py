"""The text that the models which come with hark are trained on: what it is, its licences, and whom to name.

`NAME-original` is the corpus NAME with the translations that people wrote, where NAME itself has a teacher's;
`NAME-taught` is the corpus NAME with a teacher's translations, where NAME itself has those that people wrote;
`NAME-texts` has several of its lines as one.
"""

from dataclasses import replace
from typing import Any

from hark.facts import TextFacts

ORIGINAL, TAUGHT, TEXTS, TAGGED = "-original", "-taught", "-texts", "-tagged"

_TATOEBA: Any = {
    "licence": "CC BY 2.0 FR",
    "licence_url": "https://creativecommons.org/licenses/by/2.0/fr/",
    "attribution": "Tatoeba's contributors",
    "url": "https://tatoeba.org",
}
_DEBIAN: Any = {
    "attribution": "Debian, and the authors and translators of its packages",
    "url": "https://www.debian.org",
}
_DING: Any = {
    "licence": "GPL-2.0-or-later",
    "attribution": "Frank Richter, Ding",
    "url": "https://www-user.tu-chemnitz.de/~fri/ding/",
}
_SOFTWARE = "GPL, LGPL, MPL, BSD, CC BY-SA, Apache-2.0 and other free licences, by package"

CORPORA = {
    each.name: each
    for each in (
        TextFacts(
            "europarl",
            what="Debates of the European Parliament, 1999 to 2012, aligned from the multilingual proceedings",
            licence="may be reused if the source is named",
            attribution="European Parliament",
        ),
        TextFacts("tatoeba", what="Short everyday sentences", **_TATOEBA),
        TextFacts(
            "everyday",
            what="Sentences of Tatoeba, and of manuals, guides and documentation, translated by the teacher only",
            licence="CC BY 2.0 FR; free licences as below",
            attribution="Tatoeba's contributors, and the authors named below",
            url="https://tatoeba.org",
        ),
        TextFacts("examples", what="Example sentences of a dictionary", **_DING),
        TextFacts(
            "medical",
            what="Clinical terms, definitions and notes",
            licence="CC BY-SA 3.0",
            licence_url="https://creativecommons.org/licenses/by-sa/3.0/",
            attribution="openEHR",
            url="https://openehr.org",
        ),
        TextFacts(
            "books",
            what="Alice in Wonderland, Immensee, Werther, Zarathustra",
            licence="public domain",
            attribution="Project Gutenberg",
        ),
        TextFacts(
            "prose",
            what="Guides, a health app, web pages and encyclopaedia articles",
            licence="MIT, Apache-2.0, MPL-2.0, CC0, CC BY 4.0, CC BY-SA 4.0, GPL-2.0, by source",
            attribution="Bitcoin.org, Corona-Warn-App, Ethereum.org, LearnOSM, Mozilla, Open Source Guides, "
            "Stellarium, XQuAD; in French and Spanish also Programming Historian",
        ),
        TextFacts(
            "games",
            what="Stories and rules of games",
            licence="GPL-2.0-or-later, GPL-3.0, MPL-2.0, GFDL, by game",
            attribution="Aisleriot, The Battle for Wesnoth, Shattered Pixel Dungeon, Unciv, Veloren",
        ),
        TextFacts("manuals", what="Manuals of programs", licence=f"{_SOFTWARE}; GFDL", **_DEBIAN),
        TextFacts(
            "docs",
            what="Technical documentation",
            licence="GPL, GFDL, CC BY 3.0 and 4.0, CC BY-SA 3.0, Apache-2.0, MIT, by source",
            attribution="Apache httpd, Evolution, GIMP, Git, GNOME, Godot, Kubernetes, Linux man pages, phpMyAdmin, "
            "PHP, React, The Rust Programming Language in German, tldr; in French and Spanish also Django and Python",
        ),
        TextFacts("descriptions", what="Descriptions of programs", licence="the licence of each package", **_DEBIAN),
        TextFacts(
            "strings",
            what="Messages and labels of apps",
            licence="MPL-2.0, Apache-2.0, AGPL-3.0, GPL-2.0, LGPL-2.1-or-later, MIT, by app",
            attribution="Evolution, Firefox, Home Assistant, Kate, Mastodon, OpenStreetMap, Visual Studio Code",
        ),
        TextFacts("catalogues", what="Messages and labels of 3,000 programs", licence=_SOFTWARE, **_DEBIAN),
        TextFacts("stories", what="Stories, talk and rules of games", licence=_SOFTWARE, **_DEBIAN),
        TextFacts(
            "apps",
            what="Messages of apps of daily life",
            licence="GPL-2.0, GPL-3.0, AGPL-3.0, MIT, BSD-2-Clause, Apache-2.0, by app",
            attribution="Rocket.Chat, Baby Buddy, Bitwarden, Cal.com, Consul Democracy, Decidim, Discourse, grocy, "
            "Lichess, Loomio, Rallly, Monica, My Expenses, Open Collective, Open Food Facts, StreetComplete, "
            "WooCommerce",
        ),
        TextFacts(
            "names",
            what="Names of places, things and living beings",
            licence="Unicode-3.0, MIT, ISC, AGPL-3.0, by source",
            attribution="Unicode CLDR, Emojibase, OpenStreetMap, i18n-iso-countries, Mealie, Open Food Facts",
        ),
        TextFacts(
            "dictionary",
            what="Words and their translations",
            licence="GPL-2.0-or-later",
            attribution="Frank Richter, Ding; FreeDict and Apertium for French and Spanish",
            url="https://www-user.tu-chemnitz.de/~fri/ding/",
        ),
        TextFacts(
            "europarl-texts",
            what="Two to five sentences of these debates that follow one another, as one line",
            licence="as `europarl`",
            attribution="as `europarl`",
        ),
        TextFacts(
            "written",
            what="Sentences of daily life, written for Hark in seven languages",
            licence="CC0",
            attribution="Hark",
        ),
        TextFacts(
            "written-fresh",
            what="Such sentences that the model before did not know",
            licence="CC0",
            attribution="Hark",
        ),
        TextFacts(
            "written-texts",
            what="Letters, dialogues, reports and instructions among these, several sentences as one line",
            licence="CC0",
            attribution="Hark",
        ),
        TextFacts(
            "many",
            what="News of 2019, encyclopaedia, questions, health",
            licence="CC BY-SA 4.0, CC BY-SA 3.0, CC0, by source",
            attribution="NTREX-128 (Microsoft), Parallel Universal Dependencies, XQuAD (Google DeepMind), TICO-19",
        ),
        TextFacts(
            "news",
            what="News of past years, translated by professionals",
            licence="public test sets of WMT, without a stated licence",
            attribution="WMT (statmt.org), by Helsinki-NLP/OPUS-MT-testsets",
        ),
        TextFacts(
            "talk",
            what="Bookings, calls, chats, children's stories",
            licence="CC BY-SA 4.0, Apache-2.0, CDLA-Sharing-1.0, CC BY 4.0, by source",
            attribution="BConTrasT (Unbabel), WOZ (Nikola Mrkšić), CoCoA-MT (Amazon), African Storybook",
        ),
        TextFacts(
            "letters",
            what="Formal letters, appeals, articles, terms, rights",
            licence="CC0, MIT, CC BY-SA 3.0 and 4.0, Apache-2.0, public domain, by source",
            attribution="Datenanfragen.de, FSFE, Corona-Warn-App, Mozilla, Creative Commons, United Nations",
        ),
        TextFacts(
            "encyclopedia",
            what="Sentences of an encyclopaedia, translated by people, or by machines and corrected by people",
            licence="CC BY-SA 3.0, CC0, by source",
            attribution="MT-GenEval (Amazon), MLQE-PE, Wikipedia's authors",
        ),
        TextFacts(
            "events",
            what="Tickets, refunds, conferences, recipes",
            licence="AGPL-3.0, MIT, GPL-3.0, by program",
            attribution="pretix, Indico, GNOME Recipes",
        ),
        TextFacts(
            "shops",
            what="Shops, invoices, orders, staff",
            licence="LGPL-3.0, GPL-3.0, AGPL-3.0, MIT, by program",
            attribution="Odoo, Dolibarr, ERPNext, Shopware, Open Food Network, Foodsoft, Tryton",
        ),
        TextFacts(
            "household",
            what="Devices of a household, places, health",
            licence="Apache-2.0, GPL-3.0, by program",
            attribution="Home Assistant, OsmAnd, GNU Health",
        ),
        TextFacts(
            "goods",
            what="Groceries, ingredients, kinds of places",
            licence="ODbL, AGPL-3.0, ISC, by source",
            attribution="Open Food Facts, Mealie, KitchenOwl, OpenStreetMap's tagging schema",
        ),
        TextFacts(
            "words",
            what="Words and their translations, of other pairs of languages too",
            licence="GPL-2.0-or-later, GPL-3.0-or-later, by dictionary",
            attribution="FreeDict",
            url="https://freedict.org",
        ),
        TextFacts(
            "taught",
            what="Sentences to be spoken, in English and Portuguese, translated by Mozilla's models",
            licence="CC0 (sentences), MPL-2.0 (models)",
            attribution="Common Voice's contributors, Mozilla",
            url="https://commonvoice.mozilla.org",
        ),
        TextFacts(
            "back",
            what="Sentences to be spoken, in seven languages, translated into the source by the model it started from",
            licence="CC0",
            attribution="Common Voice's contributors",
            url="https://commonvoice.mozilla.org",
        ),
        TextFacts(
            "address",
            what="Lines that address somebody, with `<formal>` or `<informal>` before the source",
            licence="as `europarl`, `tatoeba`, `talk`, `letters`, `events`, `news`, `prose` and `books`",
            attribution="as for these",
        ),
        TextFacts(
            "written-address",
            what="Lines of `written` that address somebody, with such a symbol",
            licence="CC0",
            attribution="Hark",
        ),
        TextFacts(
            "neutral",
            what="Lines that address nobody, with such a symbol",
            licence="as `address`",
            attribution="as `address`",
        ),
        TextFacts(
            "joined",
            what="Lines of software, manuals and guides in two languages that have the same English translation",
            licence="as `catalogues`, `manuals`, `docs`, `descriptions`, `strings` and `prose`",
            attribution="as for these",
        ),
        TextFacts(
            "back-translated",
            what="Sentences of the target language like those of `everyday`, translated by the reverse teacher",
            licence="as `everyday`",
            attribution="as `everyday`",
        ),
    )
}
"""By the name in the recipes."""


def base_name(name: str) -> str:
    """The corpus of which this is a variant."""
    if name in CORPORA:
        return name
    return next((name.removesuffix(end) for end in (ORIGINAL, TAUGHT, TEXTS, TAGGED) if name.endswith(end)), name)


def rank(name: str) -> tuple[int, bool]:
    """The sort key of a known corpus: the order of the table, and its variant last."""
    return list(CORPORA).index(base_name(name)), name != base_name(name)


def describe_corpus(name: str) -> TextFacts | None:
    """Return the facts of a corpus; None if it is not known."""
    known = CORPORA.get(base_name(name))
    if known is None or name == known.name:
        return known
    if name.endswith((TEXTS, TAGGED)):
        of = f"`{known.name}`"
        what = f"Two to five lines of {of} as one" if name.endswith(TEXTS) else f"Lines of {of}, marked as software"
        return TextFacts(name, what=what, licence=f"as {of}", attribution=f"as {of}")
    if name == "news" + TAUGHT:
        models = "Mozilla, firefox-translations-models (MPL-2.0)"
        return replace(known, name=name, what="News of past years, translated by Mozilla's models", attribution=models)
    if name == "everyday" + TAUGHT:  # it has no other translations
        return replace(known, name=name)
    by = "a teacher's translations" if name.endswith(TAUGHT) else "the translations that people wrote"
    return replace(known, name=name, what=f"{known.what}, with {by}")
