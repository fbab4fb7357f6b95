# ruff: noqa: RUF001 - texts in many scripts
"""Texts in many encodings."""

from __future__ import annotations

RUSSIAN = "Отпуск составляет двадцать восемь дней, больничный оплачивается по закону."


UKRAINIAN = "Відпустка становить двадцять вісім днів, її оплачують згідно із законом."


GREEK = "Η άδεια διαρκεί είκοσι οκτώ ημέρες και πληρώνεται κανονικά από την εταιρεία."


HEBREW = "החופשה השנתית היא עשרים ושמונה ימים בתשלום מלא לכל עובד בחברה."


ARABIC = "الإجازة السنوية ثمانية وعشرون يوما مدفوعة الأجر لكل موظف في الشركة."


THAI = "สำนักงานใหญ่อยู่ที่เชียงใหม่ พนักงานทุกคนมีวันหยุดพักผ่อนประจำปี"


CHINESE = "公司总部位于深圳市南山区，总经理是朱镕先生。员工每年有二十八天假期。"


TAIWANESE = "公司總部位於臺北市信義區，總經理是陳先生。員工每年有二十八天假期。"


JAPANESE = "本社は東京都千代田区にあります。担当は高橋です。休暇は年に二十八日です。"


KOREAN = "본사는 서울특별시 강남구에 있습니다. 휴가는 일년에 이십팔 일입니다."


POLISH = "Zażółć gęślą jaźń. Urlop wynosi dwadzieścia osiem dni w każdym roku."


TURKISH = "Yıllık izin yirmi sekiz gündür; işçilere ücreti ödenir. Şirketin müdürü İstanbul'dadır."


GERMAN = "Straße;Ort;Gebühr\nMüllerstraße 5;Köln;12,50\n"


FRENCH = "L’abonnement coûte 30 € par mois – “sans engagement”. Été à Besançon."


ENCODED = [
    (RUSSIAN, ("utf-8", "windows-1251", "koi8-r", "iso-8859-5", "ibm866")),
    (UKRAINIAN, ("utf-8", "windows-1251", "koi8-u")),
    (GREEK, ("utf-8", "windows-1253", "iso-8859-7")),
    (HEBREW, ("utf-8", "windows-1255", "iso-8859-8")),
    (ARABIC, ("utf-8", "windows-1256", "iso-8859-6")),
    (THAI, ("utf-8", "windows-874")),
    (CHINESE, ("utf-8", "gbk", "gb18030")),
    (TAIWANESE, ("utf-8", "big5")),
    (JAPANESE, ("utf-8", "shift_jis", "euc-jp", "iso-2022-jp")),
    (KOREAN, ("utf-8", "euc-kr")),
    (POLISH, ("utf-8", "windows-1250")),
    (TURKISH, ("utf-8", "windows-1254")),
    (GERMAN, ("utf-8", "windows-1252")),
    (FRENCH, ("utf-8", "windows-1252")),
]


CODECS = {
    "windows-874": "cp874", "gbk": "gb18030", "shift_jis": "cp932", "euc-kr": "cp949", "big5": "big5hkscs",
    "ibm866": "cp866",
}  # fmt: skip
"""Python's names of encodings, by the web's labels that differ from them."""


def encode(text: str, label: str) -> bytes:
    return text.encode(CODECS.get(label, label))
