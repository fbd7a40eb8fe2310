"""A small vocabulary of several scripts, for pages in them."""

from functools import cache

from hark.text.tokenizer import Tokenizer, train_tokenizer

ARABIC = "القطة تنام تحت الشجرة لأنها متعبة والولد يقرأ كتابا جديدا في الحديقة الكبيرة"
HEBREW = "החתול ישן מתחת לעץ כי הוא עייף"
CHINESE = "猫在树下睡觉因为它很累，孩子在花园里看新书。"
ENGLISH = "the cat sleeps under the big tree because it is tired & the boy reads <b>a new book</b> in the garden"
GERMAN = "die Katze schläft unter dem Baum, weil sie müde ist, und der Junge liest ein neues Buch im Garten"


@cache
def tokenizer() -> Tokenizer:
    lines = [ARABIC, HEBREW, CHINESE, ENGLISH, GERMAN, " ".join(map(chr, range(33, 127)))] * 30
    return Tokenizer(train_tokenizer(lines, 520, ["en", "de"]))
