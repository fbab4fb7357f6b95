"""Sentences in many languages and scripts, and questions that write their words otherwise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LanguageCase:
    """A sentence, and questions that must find it before the sentences of all other languages."""

    language: str
    text: str
    questions: tuple[str, ...]


LANGUAGES = (
    LanguageCase("Arabic", "رقم الهاتف في المدرسة الكبرى هو ٤٥٧٨٩٠.", ("457890", "المدرسه", "الْكُبْرَى")),
    LanguageCase("Amharic", "የአዲስ አበባ ቢሮ በሦስተኛው ፎቅ ላይ ነው።", ("አበባ", "ፎቅ")),
    LanguageCase("Armenian", "Գրասենյակը Երևանում է։", ("երևանում", "ԳՐԱՍԵՆՅԱԿԸ")),
    LanguageCase("Bengali", "ঢাকা অফিসের কোড ৭৪১২।", ("7412", "ঢাকা")),
    LanguageCase("Burmese", "ရန်ကုန်ရုံးရဲ့ဖုန်းနံပါတ်က ၅၅၁၂၀၀ ပါ။", ("551200", "ရန်ကုန်")),
    LanguageCase("Catalan", "El laboratori de Lleida és a la plaça.", ("placa", "PLAÇA")),
    LanguageCase("Chinese", "北京办事处的负责人是王小明。", ("北京", "王小明")),
    LanguageCase("Croatian", "Voditelj skladišta u Đakovu je Šime.", ("Dakovu", "skladista")),
    LanguageCase("Czech", "Klíč od dílny má paní Nováková.", ("novakova", "DILNY")),
    LanguageCase("Danish", "Kontoret i Østergård ligger ved Ærø.", ("Ostergard", "aero")),
    LanguageCase("French", "Le dépôt de Besançon ferme à Noël.", ("besancon", "Noel", "dépôt")),
    LanguageCase("Georgian", "თბილისის ოფისი მეხუთე სართულზეა.", ("თბილისის", "სართულზეა")),
    LanguageCase(
        "German", "Der Schlüssel der Straßenmeisterei hängt in Raum 12a.", ("STRASSENMEISTEREI", "schlussel", "12A")
    ),
    LanguageCase(
        "Greek", "Το κλειδί της αποθήκης είναι στον Γιώργο Παπαδόπουλος.", ("ΑΠΟΘΗΚΗΣ", "Γιωργο", "παπαδοπουλοσ")
    ),
    LanguageCase("Gujarati", "અમદાવાદ કાર્યાલયનો નંબર ૮૮૩૧ છે.", ("8831", "અમદાવાદ")),
    LanguageCase("Hebrew", "הַמַּפְתֵּחַ של המחסן אצל משה.", ("המפתח", "המחסן")),
    LanguageCase("Hindi", "दिल्ली कार्यालय का फ़ोन ०२०-५५५-०१४२ है।", ("020-555-0142", "फोन", "दिल्ली")),
    LanguageCase("Icelandic", "Þórður geymir lykilinn að verkstæðinu.", ("thordur", "verkstaedinu")),
    LanguageCase("Japanese", "大阪支店のサーバーは第7課が管理します。", ("大阪", "ｻｰﾊﾞｰ", "第７課")),
    LanguageCase("Kannada", "ಬೆಂಗಳೂರು ಕಚೇರಿ ಸಂಖ್ಯೆ ೬೬೧೨.", ("6612", "ಬೆಂಗಳೂರು")),
    LanguageCase("Khmer", "ការិយាល័យភ្នំពេញលេខ ៣៣០១។", ("3301", "ភ្នំពេញ")),
    LanguageCase("Korean", "부산에서 창고 열쇠는 김민수가 관리합니다.", ("부산", "김민수")),
    LanguageCase("Lao", "ຫ້ອງການວຽງຈັນເລກທີ ໒໒໐໑.", ("2201", "ວຽງຈັນ")),
    LanguageCase("Malayalam", "കൊച്ചി ഓഫീസ് നമ്പർ ൫൫൦൧.", ("5501", "കൊച്ചി")),
    LanguageCase("Marathi", "पुणे येथील गोदाम क्रमांक ९९१ आहे.", ("991", "गोदाम")),
    LanguageCase("Norwegian", "Lageret i Tromsø åpner klokka åtte.", ("Tromso", "apner")),
    LanguageCase("Persian", "کد پستی دفتر یزد ۱۲۳۴۵ است و می‌خواهم بدانم.", ("12345", "يزد", "كد", "میخواهم")),
    LanguageCase("Polish", "Klucz do magazynu w Łodzi ma Małgorzata.", ("Lodzi", "malgorzata")),
    LanguageCase("Punjabi", "ਅੰਮ੍ਰਿਤਸਰ ਦਫ਼ਤਰ ਨੰਬਰ ੪੪੦੯ ਹੈ।", ("4409", "ਦਫਤਰ")),
    LanguageCase("Romanian", "Cheia depozitului din Iași este la Ștefan.", ("iasi", "stefan")),
    LanguageCase("Russian", "Ключ от склада в Орле хранит Пётр.", ("петр", "СКЛАДА")),
    LanguageCase("Spanish", "La caja está en Logroño, año tras año.", ("logrono", "ESTA")),
    LanguageCase("Swedish", "Nyckeln till förrådet i Luleå finns hos Åsa.", ("lulea", "forradet", "asa")),
    LanguageCase("Tamil", "சென்னை அலுவலக எண் ௭௭௦௨.", ("7702", "சென்னை")),
    LanguageCase("Telugu", "హైదరాబాద్ కార్యాలయం సంఖ్య ౮౮౦౫.", ("8805", "హైదరాబాద్")),
    LanguageCase("Thai", "สำนักงานเชียงใหม่เปิดเวลา ๐๘๓๐ น.", ("0830", "เชียงใหม่")),
    LanguageCase("Tibetan", "ལྷ་སའི་ལས་ཁུངས་ཨང་ ༧༧༣༡།", ("7731", "ལྷ་སའི")),
    LanguageCase("Turkish", "Ilgaz deposunun anahtarı Çağrı Işık'ta.", ("ılgaz", "isik", "CAGRI")),
    LanguageCase("Ukrainian", "Ключ від офісу у Києві має Їржа.", ("києві", "офісу")),
    LanguageCase("Urdu", "لاہور دفتر کا نمبر ۶۶۷۸ ہے۔", ("6678", "لاهور")),
    LanguageCase("Vietnamese", "Văn phòng Đà Nẵng ở đường Nguyễn Huệ.", ("Da Nang", "nguyen hue")),
    LanguageCase("English", "Part ＰＮ－１７３ has a lead time of ②④ days.", ("PN-173", "24")),
)
