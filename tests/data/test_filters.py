import logging
import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.config import CleanConfig
from hark.data import language
from hark.data.filters import RULES, Cleaner, Verdict, is_garbled
from hark.data.held_out import HeldOut
from hark.data.language import LanguageCheck
from hark.text.detector import ALIASES, base_language, known_languages, load_detector
from hark.text.vocabulary import normalise

# Everything off, so that tests enable one rule at a time.
NO_RULES = CleanConfig(
    garbled=False,
    empty=False,
    max_words=10**6,
    max_chars=10**6,
    max_ratio=1e6,
    identical=False,
    min_letters=0.0,
    language=1.0,
    duplicates=False,
    held_out=False,
)

# Good text with many non-ASCII characters, including capitals and typographic signs after letters.
GOOD = {
    "de": "„Das macht Spaß“, sagte Jürgen, „sehr großen Spaß“ – ÄRGER gibt’s später… ENDE „Ä“.",
    "fr": "« Voilà », dit-elle, « c’est déjà l’été\u00a0» ! ÂGE, CHÂTEAU, cœur, NOËL… “É” °C",
    "pt": "NÃO, A IRM\u00c3… “IRM\u00c3” «AMANH\u00c3» – À MANHÃ, CORAÇÃO, SÃO 1ª e 2º lugar.",
    "es": "¿Está aquí? «Él está»… ¡MAÑANA! Año 2º, «Ñ», corazón.",
    "ca": "COL·LABORACIÓ, il·lusió, «què», açò.",
    "sv": "”Å”, sa han. Å… å, DÅ… 1,5 Å² räcker, ÄR DU DÄR? «Ö»",
    "pl": "Zażółć gęślą jaźń – „ŁÓDŹ”, »ŻÓŁW«…",
    "cs": "Příliš žluťoučký kůň úpěl ďábelské ódy. „ŽÍŽALA“",
    "tr": "İSTANBUL’da “ŞİŞLİ”… hâlâ kâğıt, RÜZGÂR”.",
    "ro": "„ROMÂNIA”, mâine, ÎN GÂND… țară și așa.",
    "vi": "Tôi không biết. “Ô” là chữ… MÃ, HÃY ĐỂ Ý – được rồi, CẦN “Ă”.",
    "is": "Það er „ÞAÐ“… Ísland og ÁÐUR.",
    "hu": "Árvíztűrő tükörfúrógép – „ŐRÜLT”…",
    "el": "Καλημέρα κόσμε· «ΝΑΙ»…",
    "ru": "Съешь ещё этих мягких французских булок, «ДА»…",
    "ar": "صباح الخير، كيف حالك؟",
    "he": "בוקר טוב, מה שלומך?",
    "fa": "می‌خواهم به خانه بروم.",
    "hi": "मैं घर जा रहा हूँ।",
    "th": "ฉันกำลังกลับบ้าน",
    "ja": "私は家に帰ります。",
    "ko": "나는 집에 가고 있습니다.",
    "zh": "我正在回家的路上。",
    "emoji": "Danke 👍🏽 👨‍👩‍👧 ❤️",
}


def rule(config: CleanConfig, source: str, target: str, languages: tuple[str, str] = ("en", "de")) -> str | None:
    return Cleaner(config, *languages)(source, target).rule


def test_rules_match_the_settings_in_order() -> None:
    settings = tuple(name for name in CleanConfig.__dataclass_fields__ if name != "normalise")
    assert settings == RULES


def test_a_good_pair_is_kept_and_normalised() -> None:
    clean = Cleaner(CleanConfig(), "en", "de")
    assert clean("  Good\u00a0morning,\t Tom. ", "Guten Morgen, Tom.\r") == Verdict(
        "Good morning, Tom.", "Guten Morgen, Tom.", None
    )


def test_text_is_unchanged_without_normalise() -> None:
    clean = Cleaner(replace(NO_RULES, normalise=False), "en", "de")
    assert clean(" a  b\u00a0", "c\ud800").source == " a  b\u00a0"
    assert clean(" a  b\u00a0", "c\ud800").target == "c?"  # a lone surrogate


@given(st.text(), st.text())
def test_any_text_gets_a_verdict(source: str, target: str) -> None:
    for normalised in (True, False):
        verdict = Cleaner(replace(CleanConfig(), normalise=normalised), "en", "de")(source, target)
        assert verdict.rule is None or verdict.rule in RULES
        verdict.source.encode(), verdict.target.encode()
        if normalised:
            assert (verdict.source, verdict.target) == (normalise(source), normalise(target))


def test_verdict_names_the_first_rule_that_applies() -> None:
    assert rule(CleanConfig(), "", "\ufffd") == "garbled"
    assert rule(CleanConfig(), "", "x" * 2000) == "empty"


# garbled


@pytest.mark.parametrize("name", GOOD)
def test_good_text_is_not_garbled(name: str) -> None:
    assert not is_garbled(GOOD[name])


@pytest.mark.parametrize("name", GOOD)
def test_utf8_read_as_latin1_is_garbled(name: str) -> None:
    assert is_garbled(GOOD[name].encode().decode("latin-1"))


@pytest.mark.parametrize(
    "text",
    [
        "Das MÃ¤dchen",
        "Ã–sterreich",
        "fÃ¼r Sie",
        "straÃŸe",
        "cafÃ©",
        "lÃ\u00a0-bas",
        "Il va Ã\u00a0 Paris",
        "dâ€™accord",
        "Â£5",
        "5â‚¬",
        "EspaÃ±a",
        "cÅ“ur",
        "mÅ‚ody",
        "Ä‡wiczenie",
        "Ð¿Ñ€Ð¸Ð²ÐµÑ‚",
        "ÎšÎ±Î»Î·Î¼Î­ÏÎ±",
        "Ø§Ù„Ø³Ù„Ø§Ù…",
        "ä½\u00a0å¥½",
        "ðŸ˜€",
        "ï»¿Text",
        "Viá»‡t Nam Ä‘áº¹p",
        "FÃƒÂ¼r",
    ],
)
def test_utf8_read_as_windows_1252_is_garbled(text: str) -> None:
    assert is_garbled(text)


@pytest.mark.parametrize("broken", ["\x00", "\x07", "\x1b", "\x7f", "\x9d", "\ufffd", "\ue000", "\uf8ff", "\uffff"])
def test_broken_characters_are_garbled_on_either_side(broken: str) -> None:
    only = replace(NO_RULES, garbled=True)
    assert rule(only, f"a{broken}b", "c") == "garbled"
    assert rule(only, "a", f"ü{broken}b") == "garbled"
    assert rule(NO_RULES, f"a{broken}b", "c") is None


def test_a_lone_surrogate_is_garbled() -> None:
    assert rule(replace(NO_RULES, garbled=True), "a", "b\ud800") == "garbled"


@pytest.mark.parametrize(
    "space", ["\t", "\u00a0", "\u2028", "\r", "\u3000", "\u200b", "\u00ad", "\ufeff", "\u200d", "\u200f", "\x85"]
)
def test_odd_spaces_and_invisible_characters_are_not_garbled(space: str) -> None:
    assert rule(replace(NO_RULES, garbled=True), f"a{space}b", f"ü{space}b") is None


# empty and lengths


def test_a_pair_with_an_empty_side_is_dropped() -> None:
    only = replace(NO_RULES, empty=True)
    assert rule(only, "", "a") == "empty"
    assert rule(only, "a", " \u00a0\u200b ") == "empty"
    assert rule(replace(only, normalise=False), "a", " \u00a0 ") == "empty"
    assert rule(only, "a", "b") is None


def test_words_and_characters_up_to_the_limit_are_kept() -> None:
    words = replace(NO_RULES, max_words=5)
    assert rule(words, "a b c d e", "a") is None
    assert rule(words, "a b c d e f", "a") == "max_words"
    assert rule(words, "a", "ä b c d e f") == "max_words"
    characters = replace(NO_RULES, max_chars=5)
    assert rule(characters, "abcde", "äöüßé") is None
    assert rule(characters, "abcdef", "a") == "max_chars"
    assert rule(characters, "a", "abcdef") == "max_chars"


@pytest.mark.parametrize("code", ["zh", "ja", "th", "zh-Hant", "km"])
def test_scripts_without_spaces_are_not_one_long_word(code: str) -> None:
    only = replace(NO_RULES, max_words=20)
    assert rule(only, "a", "字" * 30, ("en", code)) is None
    assert rule(only, "a", "字" * 200, ("en", code)) == "max_words"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Go.", "Verschwinde von hier!"),
        ("Yes, of course I do.", "Ja."),
        ("Hi!", "Guten Tag, wie geht es?"),
        ("Stop!", "止"),
    ],
)
def test_short_lines_may_differ_much_in_length(source: str, target: str) -> None:
    assert rule(CleanConfig(), source, target) is None


def test_long_lines_may_not_differ_much_in_length() -> None:
    only = replace(NO_RULES, max_ratio=3.0)
    assert rule(only, "a" * 100, "b" * 300) is None
    assert rule(only, "a" * 100, "b" * 400) == "max_ratio"
    assert rule(only, "b" * 400, "a" * 100) == "max_ratio"


def test_dense_scripts_have_comparable_length() -> None:
    only = replace(NO_RULES, max_ratio=2.0)
    english = "The committee will meet again next week to discuss the report that was published in March."
    assert rule(only, english, "委员会下周将再次开会讨论三月份发表的报告。", ("en", "zh")) is None
    assert (
        rule(only, english, "委員会は来週再び会合を開き、三月に発表された報告書について議論する。", ("en", "ja"))
        is None
    )
    assert rule(only, english, "委员会。", ("en", "zh")) == "max_ratio"


# content


def test_identical_sides_are_dropped() -> None:
    only = replace(NO_RULES, identical=True)
    assert rule(only, "The second point.", "The second  point.") == "identical"
    assert rule(only, "Written Statements", "Written statements") == "identical"
    assert rule(only, "Tom", "Tom!") is None


def test_letters_of_any_script_count() -> None:
    only = replace(NO_RULES, min_letters=0.5)
    for text in GOOD.values():
        if text != GOOD["emoji"]:
            assert rule(only, text, text) is None
    assert rule(only, "12.05.2004 (17:30)", "Mai") == "min_letters"
    assert rule(only, "May", "*** 1 / 2 ***") == "min_letters"
    assert rule(only, "ab 12", "a1") is None  # half is not less than half


def test_short_sentences_with_figures_survive_the_defaults() -> None:
    assert rule(CleanConfig(), "It's 7:45.", "Es ist 7:45 Uhr.") is None
    assert rule(CleanConfig(), "I'm 19.", "Ich bin 19.") is None
    assert rule(CleanConfig(), "12.05.2004", "12. 5. 2004") == "min_letters"


# language

POLISH = "Dlatego głosowałem za przyjęciem tej rezolucji w sprawie budżetu."
ENGLISH = "For that reason I voted in favour of this resolution on the budget."
GERMAN = "Deshalb habe ich für diesen Entschließungsantrag zum Haushalt gestimmt."


def test_a_side_in_another_language_is_dropped() -> None:
    assert rule(CleanConfig(), ENGLISH, GERMAN) is None
    assert rule(CleanConfig(), ENGLISH, POLISH) == "language"
    assert rule(CleanConfig(), POLISH, GERMAN) == "language"
    assert rule(CleanConfig(), GERMAN, ENGLISH) == "language"
    assert rule(replace(CleanConfig(), language=1.0), GERMAN, ENGLISH) is None


def test_foreign_text_after_a_glance_at_native_text_is_not_dropped() -> None:
    assert rule(CleanConfig(), ENGLISH, GERMAN + " " + POLISH) is None


@pytest.mark.parametrize("text", ["Ja.", "Il y a urgence !", "OK, Tom.", "Jackpot!", "12 %"])
def test_short_lines_are_accepted(text: str) -> None:
    assert not LanguageCheck("de", 0.0).is_foreign(text)


def test_a_doubtful_line_is_kept() -> None:
    # The detector alone returns English with 0.94 and 0.92.
    check = LanguageCheck("de", 0.8)
    for text in ("Das, was Tom getan hat, war abscheulich.", "Die Elster sammelt alles, was glitzert."):
        assert check.first_guess(text) == "en"
        assert not check.is_foreign(text)


def test_capitals_are_not_foreign() -> None:
    assert not LanguageCheck("de", 0.5).is_foreign("AUSSPRACHE ÜBER DIE LAGE IM NAHEN OSTEN")
    assert not LanguageCheck("en", 0.5).is_foreign("EXPLANATIONS OF VOTE AND DEBATE ON THE BUDGET")


@pytest.mark.parametrize("code", ["xx", "tlh", "enx", ""])
def test_a_language_unknown_to_the_detector_is_accepted(code: str) -> None:
    assert not LanguageCheck(code, 0.0).is_foreign(POLISH)


@pytest.mark.parametrize(
    ("code", "base"),
    [
        ("pt-BR", "pt"),
        ("zh-Hans", "zh"),
        ("zh_TW", "zh"),
        ("nb", "no"),
        ("EN", "en"),
        ("sr-Latn-RS", "sr"),
        ("fil", "tl"),
    ],
)
def test_base_language_drops_regions_and_scripts(code: str, base: str) -> None:
    assert base_language(code) == base
    assert base in known_languages()


def test_related_languages_are_accepted() -> None:
    danish = "Derfor stemte jeg for denne beslutning om budgettet i går aftes."
    for code in ("nb", "nn", "no", "da"):
        assert not LanguageCheck(code, 0.0).is_foreign(danish)
    assert LanguageCheck("de", 0.5).is_foreign(danish)
    croatian = "Zbog toga sam glasovao za ovu rezoluciju o proračunu Europske unije."
    for code in ("hr", "sr-Latn", "bs"):
        assert not LanguageCheck(code, 0.0).is_foreign(croatian)


def test_the_detector_knows_relatives_and_aliases() -> None:
    assert len(known_languages()) == 176
    named = set(ALIASES.values()).union(*language.RELATIVES)
    assert named <= known_languages()


def test_the_detector_works_offline_and_silently(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network must not be used")

    monkeypatch.setattr("socket.socket.connect", refuse)
    load_detector.cache_clear()
    with caplog.at_level(logging.DEBUG):
        assert LanguageCheck("de", 0.8).is_foreign(POLISH)
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


# held out


def test_sentences_of_dev_and_test_sets_are_dropped() -> None:
    held_out = HeldOut()
    held_out.add("Good morning, Tom.", "Guten Morgen, Tom.")
    clean = Cleaner(CleanConfig(), "en", "de", pickle.loads(pickle.dumps(held_out)))
    assert clean("good morning tom", "Moin, Tom.").rule == "held_out"
    assert clean("Hello, Tom.", "Guten Morgen Tom!").rule == "held_out"
    assert clean("Hello, Tom.", "Moin, Tom.").rule is None
    assert Cleaner(replace(CleanConfig(), held_out=False), "en", "de", held_out)("Good morning, Tom.", "x").rule is None
