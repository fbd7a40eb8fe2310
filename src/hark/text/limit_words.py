"""The words of limit, order and negation in seven languages, for `limits.py`.

Each kind has regular expressions, separated by a comma and a space; a space in one is any white space. `#` requires a
number next, `##` within the next three words. Where several match, the longest expression counts, so that "no more
than" is not "no" and "more". A word may have several kinds.

most, least: bounds, in every context. upto: a bound or the end of a range. over, under: bounds of a number; more, less:
perhaps. before, after: order; with a question mark: in one of the likely senses of the word; early, late: perhaps.
either: says any of these. not: negation; lack: negative in meaning; hint: perhaps. skip: phrases that say nothing.
"""

from collections.abc import Mapping

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "most": r"""
            at(?: the)?(?: very)? most(?=\W*$|\s*[^\w\s]|\s(?:a|an|one|each|once|twice|half)\b),
            at(?: the)?(?: very)? most #, maximum, maximal, max #, at the(?: very)? latest, a maximum of
        """,
        "least": r"at(?: the)?(?: very)? least, minimum, minimal, min #, at the(?: very)? earliest",
        "upto": r"up to #, up to (?:an? |half )",
        "not over": r"""
            (?:no|not|never)(?: be| take| use)? (?:more|longer|greater|higher|larger|bigger|older) than ##,
            (?:no|not|never)(?: be| take| use)? (?:further|later|heavier|wider|taller|deeper|faster|warmer) than ##,
            not over #, not above #
        """,
        "not under": r"""
            (?:no|not|never)(?: be)? (?:less|fewer|shorter|smaller|lower|younger|earlier|sooner|closer|nearer) than ##,
            not under #, not below #
        """,
        "over": r"""
            (?:more|longer|greater|higher|larger|bigger|older|heavier|taller|further|farther) than #, over #, above #,
            in excess of, exceed\w* ##
        """,
        "under": r"(?:less|fewer|shorter|lower|smaller|younger|lighter) than #, under #, below #",
        "more": r"""
            more, over, above, beyond, past, longer, older, higher, greater, exceeding, upwards?, enough,
            sufficient\w*
        """,
        "less": r"""
            less, fewer, under, below, beneath, shorter, younger, lower, only, just, within, limit\w*, capped,
            at most, almost, nearly, up to, as (?:much|many|long|far) as, underneath, smaller
        """,
        "before": r"""
            before(?! (?:god|long|you|us|me|him|her|it|them|your|my|our|his|their|the (?:court|house|judge))\b)(?= \w),
            prior to
        """,
        "after": r"after(?! (?:all|you|us|me|him|her|it|them|your|my|our|his|their)\b)(?= \w)",
        "early": r"""
            before, until, till, by, ahead, earlier, previous\w*, beforehand, ago, already, advance, preced\w+,
            former\w*, preliminar\w*, in front, prior, up to, within, first, no later, yesterday
        """,
        "late": r"""
            after, afterwards?, since, from (?=the|now|then|\d), as of, as from, onwards?, later, following, then,
            next, subsequent\w*, behind, post\w*, follow\w*, within, once, when, upon, late, because, having,
            on \w+ing, past
        """,
        "either": r"""
            not until, not before, not after, as long as, (?:no|not) \w+er than, no more than, no less than
        """,
        "with": r"with",
        "without": r"without",
        "not": r"""
            \w+n[’']t, not(?! (?:only|just|merely|until|to mention|necessarily|so|very|too|much|many)), cannot, never,
            mustn[’']t, don[’']t
        """,
        "lack": r"""
            no, not, none, nothing, nobody, nowhere, neither, nor, no one, no longer, hardly, barely, scarcely,
            rarely, seldom, unless, except\w*, un[a-z]{4,}, im(?:poss|prop|patien|polite|movab|mun|mob)\w*,
            in(?:cap|abil|cor|vis|suff|dep|cred|appropr|adequ|accur)\w*,
            in(?:complete|finite|evit|tact|comp|val|signif|expens|diff|discr)\w*,
            ir(?:res|rel|reg|rev)\w*, il(?:leg|leg|log)\w*, dis[a-z]{3,}, non\w*, \w{3,}less\w*, lack\w*, fail\w*,
            refus\w*, avoid\w*, den(?:y|ied|ies|ying), forb[ia]d\w*, prohibit\w*, ban(?:ned|s)?, stop\w*, prevent\w*,
            miss\w*, doubt\w*, far from, out of, free\w*, empty, wrong, ignor\w*, reject\w*, oppos\w*, absen\w*, quit,
            ceas\w*, anything but, other than, hate\w*, lest, exclu\w*, restrict\w*, minus, abstain\w*, regardless,
            declin\w*, neglect\w*, gone, away, despite, under no, in no, rid, spare\w*
        """,
        "hint": r"""
            too, instead, rather, only, otherwise, out, keep\w*, kept, still, any\w*, ever, away, beyond, against,
            mind, help, off, but, before, until, yet, if, than, hard, remain\w*, left, leave, difficult\w*, short,
            bare, save, as if, drop\w*, hesitat\w*, stranger\w*, little, few, los[te]\w*, loss\w*
        """,
        "skip": r"after all, over and over, before long, look\w* after, without (?:a )?doubt",
    },
    "de": {
        "most": r"""
            höchste?ns, maximal\w*, maximum, max #, spätestens, längstens, allerhöchstens, obergrenze,
            höchst(?:menge|dauer|alter|zahl|dosis|wert|satz|gewicht|grenze|geschwindigkeit)\w*
        """,
        "least": r"mindest\w*, wenigstens, zumindest, minimum, min #, frühestens, minimal(?:e[nrsm]?)?",
        "upto": r"bis zu #, bis zu ein\w*",
        "not over": r"""
            (?:nicht|nie|kein\w*) (?:mehr|länger|größer|höher|älter|später) (?:als|wie) ##,
            (?:nicht|nie|kein\w*) (?:weiter|schwerer|tiefer|schneller|wärmer) (?:als|wie) ##,
            nicht über #, über(?:schr|st[ei])\w+(?: [^\s,;]+){0,6} (?:nicht|nie)
        """,
        "not under": r"""
            (?:nicht|kein\w*) (?:weniger|kürzer|kleiner|jünger|früher|geringer|niedriger|näher) als ##, nicht unter #
        """,
        "over": r"""
            (?:mehr|länger|größer|höher|älter|später|weiter|schwerer) als #, über #, über(?:schr|st[ei])\w+ ##,
            über(?:schr|st[ei])\w+, oberhalb ##
        """,
        "under": r"(?:weniger|kürzer|kleiner|jünger|geringer|niedriger) als #, unter #, unterhalb ##",
        "more": r"""
            mehr, über, älter, länger, größer, höher, ab, darüber, mehr als, hinaus, genug, ausreich\w*, von, oberhalb
        """,
        "less": r"""
            weniger, unter, kürzer, jünger, kleiner, nur, bloß, lediglich, bis, fast, knapp, innerhalb, binnen,
            begrenz\w*, beschränk\w*, darunter, beinahe, niedriger, geringer, unterhalb
        """,
        "before": r"bevor, vorher, zuvor, davor, vor (?:dem|der|den|dies\w+|beginn|ablauf|ende|mitternacht|#)",
        "before?": r"vor",
        "after": r"nachdem, danach, nach (?:dem|der|den|dies\w+|beginn|ablauf|ende|mitternacht|#)",
        "after?": r"nach",
        "early": r"""
            bis, ehe, früher\w*, vorig\w*, vorherig\w*, schon, bereits, im voraus, vorab, vorhin,
            vor(?:an|ge|be|aus|le|ma|mit|abend|jahr|tag)\w+, zuerst, spätestens, ehemalig\w*, anfangs, zunächst,
            rechtzeitig, noch, innerhalb, um
        """,
        "late": r"""
            ab, seit\w*, später\w*, anschließend\w*, dann, folgend\w*, nachher, hinter, sobald, wenn, als, hinterher,
            nächst\w*, darauf\w*, nach(?:her|dem|folg|träg|mittag)\w*, erst, infolge, zufolge, im anschluss,
            innerhalb, aufgrund, wegen, dahinter
        """,
        "either": r"erst, nicht vor, nicht nach, nicht bis, solange, nicht \w+er als",
        "with": r"mit, mithilfe",
        "without": r"ohne",
        "not": r"nicht(?! (?:nur|bloß|wahr|allein|zuletzt|so|sehr|ganz|viel|viele)), nie, niemals, kein\w*",
        "lack": r"""
            nicht, nichts, niemand\w*, nirgend\w*, weder, ohne, un[a-zäöüß]{4,}, kaum, selten, wenig\w*, außer\w*,
            nein, \w{3,}los\w*, miss\w+, fehl\w*, mangel\w*, verb[io][et]\w*, verbat, unters[ae]g\w*, vermeid\w*,
            vermied\w*, verhinder\w*, verweiger\w*, weiger\w*, ablehn\w*, lehn\w*, statt\w*, anstatt\w*, frei\w*,
            leer\w*, falsch\w*, ignorier\w*, aufhör\w*, verlor\w*, verlier\w*, verpass\w*, vergess\w*, vergaß\w*,
            zweif\w*, bezweif\w*, ausgeschl\w*, ausschl\w*, schließ\w*, entfern\w*, fern\w*, hüte\w*, sondern,
            aller?dings, \w*frei, unterlass\w*, verzicht\w*, entgeh\w*, entging\w*, vernachläss\w*, gescheitert,
            scheiter\w*, versag\w*, in\w+(?:abel|ibel)\w*, desinter\w*, fremd\w*, irrelev\w*, illegal\w*, erspar\w*,
            umsonst, vergeb\w*, nimmer\w*, nichts\w*, keinerlei, keine\w*, egal, gleichgültig\w*, einerlei, weg, fort
        """,
        "hint": r"""
            zu(?= \w+ (?:um|als)), lieber, sonst, erst, bis, bevor, ehe, noch, immer noch, lass\w*, als, schwer\w*,
            schwierig\w*, doch, aus, wenn, ab, schon, blieb\w*, bleib\w*, halt\w*, nur, bloß, gegen, weg,
            einzig\w*, hör\w*, hört\w*, übers\w+, bar, sogar, vorbei, trotz\w*
        """,
        "skip": r"vor allem\w*, über\w+, nach wie vor, vor sich, nach hause, ohne weiteres, ohne zweifel",
    },
    "fr": {
        "most": r"""
            au (?:grand )?maximum, maximum, maxim(?:ale?s?|aux), maxi(?! \w), tout au plus,
            au plus(?! (?:vite|tôt|tard|haut|bas|profond|fort|près|grand|petit)), au plus tard, à concurrence de,
            plafonn\w+
        """,
        "least": r"""
            au (?:grand )?minimum, minimum, au moins, du moins, tout au moins, au plus tôt, minim(?:ale?s?|aux)
        """,
        "upto": r"jusqu[’']à #",
        "not over": r"""
            (?:pas|jamais|ni|guère|non)(?: de)? plus (?:de|d[’']|long\w* que|tard que|haut\w* que|grand\w* que) ?##,
            pas au[- ]delà ##, (?:dépass|excéd)\w+ (?:pas|jamais), sans (?:dépasser|excéder)
        """,
        "not under": r"(?:pas|ni) moins (?:de|d[’'])? ?##",
        "over": r"""
            plus (?:de|d[’']|que) ?#, supérieur\w* à ##, (?:dépass|excéd)\w+ ##, au[- ]dessus ##, au[- ]delà ##
        """,
        "under": r"moins (?:de|d[’']|que) ?#, inférieur\w* à ##, (?:au|en)[- ]dessous ##",
        "more": r"""
            plus, supérieur\w*, davantage, dès, à partir, assez, suffi\w*, outre, sur, dépass\w+, excéd\w+,
            au[- ]dessus, au[- ]delà
        """,
        "less": r"""
            moins, inférieur\w*, sous, que, seulement, presque, près, limit\w*, jusqu[’']\w*, à peine, ne, n[’'],
            dans, juste, (?:au|en)[- ]dessous, attein\w+
        """,
        "before": r"avant(?! (?:tout|hier|garde))",
        "after": r"après(?!-)",
        "early": r"""
            avant, auparavant, jusqu[’']\w*, d[’']ici, il y a, devant, précéd\w+, déjà, préalable\w*, ant[ée]rieur\w*,
            plus tôt, en avance, à l[’']avance, préliminaire\w*, premi\w+, naguère, encore, veille
        """,
        "late": r"""
            après, dès, depuis, à partir, ensuite, puis, plus tard, suite, suiv\w+, derrière, au bout, prochain\w*,
            une fois, lorsqu\w*, quand, post\w+, ult[ée]rieur\w*, à l[’']issue, passé\w*, lendemain
        """,
        "either": r"pas avant, pas après, tant que",
        "with": r"avec",
        "without": r"sans",
        "not": r"pas(?! (?:mal|seulement|que)), jamais, aucun\w*",
        "lack": r"""
            non, ni, rien, personne, nul\w*, pas, guère, point, aucun\w*, jamais, impos\w*,
            im(?:p[aeoruo]|mob|mat)\w+,
            in(?:cap|suff|vis|compl|util|aud|conn|dép|dispo|terd|just|égal|accept)\w*,
            in(?:différ|ex|sens|act|adap|compr|con|dign|fin|évit|aper|certain)\w*,
            ir(?:r|ré)\w+, illé\w+, dé[a-z]{4,}, dés\w+, manqu\w*, refus\w*, évit\w*, interdi\w*, défend\w*,
            empêch\w*, cess\w*, arrêt\w*, rat\w*, dout\w*, au lieu, sinon, hors, vide\w*, faux, fausse\w*, ignor\w*,
            rejet\w*, oppos\w*, absen\w*, exclu\w*, sauf, peu, rarement, excepté, à moins, libre\w*, exempt\w*,
            dépourv\w*, priv\w*, non\w*, oubli\w*, échou\w*, échapp\w*, abst[ie]\w*, malgré, méconn\w*, quand même,
            de rien, nég\w*, renon\w*, anti\w*, indépend\w*, ne, n[’'], égal, peu importe, fich\w*, fout\w*
        """,
        "hint": r"""
            que, plus, si, même, encore, toujours, rest\w*, avant, laiss\w*, trop, seul\w*, contre, difficil\w*,
            quitt\w*, plutôt, loin, dé[a-z]{4,}, mé\w+, mal\w*, perd\w*, dis\w+, pauv\w*
        """,
        "skip": r"""
            un pas, chaque pas, à pas, faux pas, d[’']après, avant tout, après tout, en avant, sans doute, sans cesse,
            premiers? pas, premier pas, pas de porte
        """,
    },
    "es": {
        "most": r"""
            a lo sumo, a lo más, al máximo, máxim[oa]s?, a más tardar, como (?:máximo|mucho), como (?:muy )?tarde
        """,
        "least": r"""
            al menos, a lo menos, por lo menos, cuando menos, como mínimo, como (?:pronto|muy pronto), mínim[oa]s?
        """,
        "upto": r"hasta #",
        "not over": r"(?:no|nunca|ni)(?: \w+)? (?:más|mayor\w*|superior\w*) (?:de|a|que) ##",
        "not under": r"(?:no|ni|nada) (?:menos|menor\w*|inferior\w*) (?:de|a|que) ##",
        "over": r"""
            más (?:de|que) #, superior\w* a ##, mayor\w* (?:de|a|que) #, (?:super[ae]|exced|sobrepas|rebas)\w* ##,
            por encima ##
        """,
        "under": r"menos (?:de|que) #, inferior\w* a ##, menor\w* (?:de|a|que) #, por debajo ##",
        "more": r"""
            más, mayor\w*, sobre, superior\w*, desde, a partir, suficiente\w*, bastante, encima,
            (?:super[ae]|exced|sobrepas|rebas)\w*, por encima
        """,
        "less": r"""
            menos, menor\w*, inferior\w*, bajo, solo, sólo, solamente, únicamente, casi, hasta, límite, limit\w*,
            debajo, dentro, apenas, tan, por debajo, alcanz\w+
        """,
        "before": r"antes(?= (?:de|del|que)\b)",
        "before?": r"antes",
        "after": r"después(?= (?:de|del|que)\b), tras(?= (?:el|la|los|las|un|una|\w+r)\b)",
        "after?": r"después",
        "early": r"""
            hasta, hace, ante, previ\w+, anterior\w*, ya, adelantad\w+, anteayer, primero, delante, antelación,
            anticip\w+, anteriormente, temprano, víspera
        """,
        "late": r"""
            luego, desde, a partir, posterior\w*, siguiente\w*, más tarde, pasad\w+, al cabo, detrás, en cuanto,
            dentro de, cuando, una vez, próxim\w+, seguid\w+, sigui\w+, al \w+[aei]r(?:se|lo|la)?, a raíz, tras
        """,
        "either": r"no antes, no después, mientras",
        "with": r"con",
        "without": r"sin",
        "not": r"no(?! (?:sólo|solo|solamente|obstante)\b), nunca, jamás, ningún, ningun\w+, tampoco",
        "lack": r"""
            no, ni, nada, nadie, sin, ningún, ningun\w+, nunca, jamás, tampoco, im(?:p[aeorut]|mort)\w+,
            in(?:cap|suf|vis|compl|út|aud|dep|disp|just|acept|difer|ex|sens|act|adec|compr|dig|fin|evit|cort|c)\w*,
            ir(?:r)\w+, ilegal\w*, ilóg\w*, falt\w*, carec\w*, neg\w+, nieg\w*, evit\w*, prohib\w*, impid\w*,
            imped\w*, fall\w*, dud\w*, en vez, en lugar, vací\w*, fals\w*, ignor\w*, rechaz\w*, opon\w*, opus\w*,
            ausen\w*, exclu\w*, salvo, excepto, raramente, rara vez, libre\w*, exent\w*, olvid\w*, abst\w*, a pesar,
            aparte, caso omiso, ni siquiera, en absoluto, en la vida, en mi vida, anti\w*, cesa\w*, extrañ\w*,
            desconoc\w*, casi, igual, indiferente\w*
        """,
        "hint": r"""
            que, si, más, aún, todavía, ya, antes, hasta, menos, solo, sólo, sino, dej\w+, quit\w*, últ\w*,
            des[a-z]{4,}, mal\w*, par[aeóo]\w*, demasiad\w*, poc[oa]s?, contra, apenas, difícil\w*, perd\w*, pierd\w*,
            sigue\w*, fuera, lejos
        """,
        "skip": r"antes bien, después de todo, sin embargo, sin duda, sin falta, hasta que no, no importa",
    },
    "it": {
        "most": r"""
            al massimo, massim[oaie], tutt[’']al più, al più #, al più tardi, entro e non oltre,
            al più(?=\W*$|\s*[^\w\s])
        """,
        "least": r"""
            almeno, perlomeno, per lo meno, quantomeno, quanto meno, al minimo, come minimo, minim[oaie](?! storic)
        """,
        "upto": r"fino a #",
        "not over": r"""
            (?:non|mai|né)(?: \w+)? (?:più|oltre|maggior\w*|superior\w*) (?:di|a|al|d[’']|le|i)? ?##, non oltre ##
        """,
        "not under": r"(?:non|niente|né) (?:meno|inferior\w*|minor\w*) (?:di|a|che) ##",
        "over": r"""
            più (?:di|che|d[’']) ?#, oltre #, oltre i #, oltre le #, sopra i #, sopra #, maggior\w* (?:di|a) #,
            (?:super[aiò]|ecced)\w* ##, al di sopra ##
        """,
        "under": r"""
            meno (?:di|che|d[’']) ?#, inferior\w* a\w* ##, sotto i #, sotto #, minor\w* (?:di|a) #, al di sotto ##
        """,
        "more": r"""
            più, oltre, maggior\w*, superior\w*, sopra, da, dai, dal, a partire, abbastanza, sufficient\w*,
            (?:super[aiò]|ecced)\w*, al di sopra
        """,
        "less": r"""
            meno, sotto, minor\w*, inferior\w*, solo, soltanto, solamente, quasi, fino, sino, entro, limit\w*,
            nemmeno, appena, poco, circa, tanto, al di sotto, al più, raggiun\w+
        """,
        "before": r"prima(?= (?:di|che|del|della|dello|dell|dei|degli|delle|d)\b)",
        "before?": r"prima",
        "after": r"dopo",
        "early": r"""
            avanti, davanti, fa, entro, fino, sino, precedent\w*, anticip\w*, già, finché, preceden\w+, antecedent\w*,
            innanzi\w*, presto, ieri, vigilia
        """,
        "late": r"""
            dopodiché, poi, da, dal, dalla, dalle, dall, dai, dagli, a partire, in seguito, a seguito, successiv\w*,
            dietro, seguent\w*, appena, tra, fra, più tardi, quando, prossim\w+, una volta, segu\w+, passat\w+, oltre
        """,
        "either": r"non prima, non dopo, finché",
        "with": r"con, col, coi",
        "without": r"senza, senz[’']",
        "not": r"non(?! (?:solo|soltanto|solamente|appena)\b), nessun\w*",
        "lack": r"""
            no, non, né, neanche, nemmeno, neppure, niente, nulla, mai, nessun\w*, im(?:p[aeorut]|mort|mob|mat)\w+,
            in(?:cap|suf|vis|comp|ut|aud|dip|disp|giu|accet|diff|ec|sen|att|ade|deg|fin|evit|c)\w*, ir(?:r)\w+,
            illeg\w*, manc\w*, neg\w+, evit\w*, proib\w*, viet\w*, imped\w*, smett\w*, smess\w*, dubit\w*, dubb\w*,
            invece, anziché, vuot\w*, fals\w*, sbagl\w*, ignor\w*, rifiut\w*, respin\w*, oppo\w*, assen\w*, esclu\w*,
            salvo, tranne, eccetto, raramente, a meno, priv\w*, esente, dimentic\w*, scord\w*, asten\w*, bensì,
            nonostante, affatto, mica, estrane\w*, anti\w*, trascur\w*, per poco, freg\w*, uguale
        """,
        "hint": r"""
            che, se, più, ancora, appena, prima, rest\w*, lasci\w*, sol[oa]\w*, vita, alcun\w*, s[bcfgptv]\w{4,},
            dis[a-z]{4,}, mal\w*, ferm\w*, tropp\w*, poc\w*, contr\w*, difficil\w*, fuori, lontan\w*, piuttosto,
            perd\w*, perso, perse, finisc\w*, liber\w*, stran\w*, finché
        """,
        "skip": r"""
            dopo tutto, dopotutto, prima o poi, senz[’']altro, senza dubbio, finché (?:\w+ ){0,3}non, vedo l[’']ora,
            niente male
        """,
    },
    "nl": {
        "most": r"""
            hoogstens, hooguit, maxim\w+, ten hoogste, op zijn hoogst, uiterlijk, ten laatste, op zijn laatst, max #
        """,
        "least": r"""
            minstens, minimaal, tenminste, ten minste, op zijn minst, op z[’']n minst, ten vroegste, op zijn vroegst,
            minim(?:aal|ale|um)
        """,
        "upto": r"tot maximaal, tot wel #",
        "not over": r"""
            (?:niet|geen|nooit)(?: \w+)? (?:meer|langer|groter|hoger|ouder|later|verder) dan ##,
            (?:niet|geen|nooit)(?: \w+)? (?:zwaarder|dieper|warmer|harder|sneller) dan ##,
            niet boven #, niet over #, over(?:schr[ei]|stijg)\w*(?: [^\s,;]+){0,6} (?:niet|nooit)
        """,
        "not under": r"(?:niet|geen) (?:minder|korter|kleiner|jonger|eerder|lager|dichter) dan ##, niet onder #",
        "over": r"""
            (?:meer|langer|groter|hoger|ouder|later|verder|zwaarder) dan #, boven #, over(?:schr[ei]|stijg)\w* ##,
            boven de ##
        """,
        "under": r"(?:minder|korter|kleiner|jonger|lager) dan #, onder #, onder de #, beneden #",
        "more": r"""
            meer, boven, over, ouder, langer, vanaf, groter, hoger, genoeg, voldoende, ruim, overheen, dan,
            over(?:schr[ei]|stijg)\w*
        """,
        "less": r"""
            minder, onder, jonger, korter, kleiner, slechts, maar, alleen, bijna, tot, binnen, beperk\w*, net, lager,
            enkel, beneden, wel
        """,
        "before": r"voordat, vóór, alvorens, vooraf, van tevoren, vooraleer",
        "before?": r"voor",
        "after": r"nadat, na, daarna",
        "early": r"""
            vroeger, eerder\w*, tot, vorig\w*, reeds, geleden, voorgaand\w*, vooraf\w*, voorheen, van te voren,
            eerdere, vooruit, voor\w+, eerst, gisteren
        """,
        "late": r"""
            daarna, vanaf, sinds, sedert, later, vervolgens, achter\w*, nadien, volgend\w*, als, toen, zodra, erna,
            wanneer, binnen, over, achteraf, naderhand, naar aanleiding, na\w+
        """,
        "either": r"pas, niet voor, niet na, zolang, niet \w+er dan",
        "with": r"met",
        "without": r"zonder",
        "not": r"niet(?! (?:alleen|enkel|waar|zo|zozeer)\b), nooit, geen",
        "lack": r"""
            niet, niets, niks, niemand, nergens, noch, zonder, nooit, geen, on[a-z]{4,}, \w{3,}loos, \w{3,}loze,
            zeld\w*, nauwelijks, amper, behalve, tenzij, gebrek\w*, ontbr\w+, miss?[et]?\w*, weiger\w*, vermijd\w*,
            vermeed, verbod\w*, verbied\w*, verboden, voorkom\w*, belet\w*, stop\w*, ophoud\w*, twijfel\w*,
            betwijfel\w*, in plaats, vrij\w*, leeg, lege, fout\w*, verkeerd\w*, valse?, negeer\w*, neger\w*,
            afw[ei]\w*, verw[eo]rp\w*, afwezig\w*, uitgesl\w*, uitsl\w*, nee, vergeet\w*, vergat\w*, vergeten, kwijt,
            ondanks, wars, niemand\w*, allerminst, evenmin, zelden, hekel, haat\w*, anti\w*, non\w*,
            in(?:cap|eff|com)\w*, im(?:pop|mob|m)\w*, irr\w*, illeg\w*, vreemd\w*, vergeefs\w*, zeg nooit,
            weerlo\w*, \w{3,}lo\w*, egaal, een zorg
        """,
        "hint": r"""
            te, maar, alleen, slechts, pas, nog, als, dan, tot, laat\w*, laten, uit, af, ver, weg, hou[d]?\w*,
            voordat, blijf\w*, bleef, anders, zelfs, tegen\w*, mis\w*, buiten, liever, moeilijk\w*, moeite,
            verl[io]\w*, weinig
        """,
        "skip": r"op één na, op een na, na te, voor na, zonder twijfel, zonder meer, voor zover, neemt niet weg",
    },
    "pt": {
        "most": r"no máximo, máxim[oa]s?, quando muito, o mais tardar, ao máximo, o máximo",
        "least": r"pelo menos, ao menos, no mínimo, quando menos, nunca menos, mínim[oa]s?",
        "upto": r"até #",
        "not over": r"(?:não|nunca|nem)(?: \w+)? (?:mais|maior\w*|superior\w*) (?:de|do|que|do que|a) ##",
        "not under": r"(?:não|nada|nem) (?:menos|menor\w*|inferior\w*) (?:de|do|que|a) ##",
        "over": r"""
            mais (?:de|do que|que) #, superior\w* a\w* ##, maior\w* (?:de|do que|que) #,
            (?:exced|ultrapass|super[ae])\w* ##, acima ##
        """,
        "under": r"menos (?:de|do que|que) #, inferior\w* a\w* ##, menor\w* (?:de|do que|que) #, abaixo ##",
        "more": r"""
            mais, maior\w*, sobre, superior\w*, desde, a partir, além, bastante\w*, suficiente\w*, chega\w*,
            (?:exced|ultrapass|super[ae])\w*, acima
        """,
        "less": r"""
            menos, menor\w*, inferior\w*, sob, só, somente, apenas, quase, até, limit\w*, dentro, debaixo, abaixo,
            ating\w+, chegar a
        """,
        "before": r"antes(?= (?:de|do|da|dos|das|que|d\w+)\b)",
        "before?": r"antes",
        "after": r"depois(?= (?:de|do|da|dos|das|que|d[a-z]+)\b), após",
        "after?": r"depois",
        "early": r"""
            até, há, atrás, anterior\w*, préviam?\w*, prévi\w+, já, antecedência, antecip\w+, cedo, diante, perante,
            anteriormente, ontem, primeiro, ante\w+, véspera
        """,
        "late": r"""
            logo, desde, a partir, posterior\w*, seguinte\w*, mais tarde, passad\w+, ao fim, atrás, dentro de, quando,
            próxim\w+, na sequência, segu\w+, daqui, assim que, uma vez, ao \w+[aei]r, pós\w*, tendo
        """,
        "either": r"não antes, não depois, enquanto",
        "with": r"com",
        "without": r"sem",
        "not": r"não(?! (?:só|apenas|somente|obstante|é)\b), nunca, jamais, nenhum\w*, tampouco",
        "lack": r"""
            não, nem, nada, ninguém, sem, nunca, jamais, nenhum\w*, tampouco, im(?:p[aeorut]|ort|ób|ed)\w+,
            in(?:cap|suf|vis|comp|út|aud|dep|disp|just|acei|difer|ex|sens|at|ade|dig|fin|evit|c)\w*, ir(?:r)\w+,
            ilegal\w*, falt\w*, carec\w*, neg\w+, evit\w*, proib\w*, imped\w*, falh\w*, duvid\w*, dúvid\w*, em vez,
            em lugar, vazi\w*, fals\w*, errad\w*, ignor\w*, recus\w*, rejeit\w*, op[ôu][es]\w*, ausên\w*, ausente\w*,
            exclu\w*, salvo, exceto, excepto, raramente, livre\w*, isent\w*, esque\w*, abst\w*, apesar, anti\w*,
            estranh\w*, desconh\w*, sequer, quase, tanto faz, indiferente\w*
        """,
        "hint": r"""
            que, se, mais, ainda, já, até, mesmo, só, apenas, antes, menos, vida, algum\w*, senão, deix\w*,
            des[a-z]{3,}, mal\w*, mal, par[aeo]\w*, demais, demasiad\w*, pouc\w*, contra, difícil, perd\w*, fora,
            long\w*
        """,
        "skip": r"depois de tudo, antes pelo contrário, sem dúvida, sem falta, não importa",
    },
}
