package features

import "unicode"

// ideograph tells characters of scripts that do not part words by spaces.
func ideograph(r rune) bool {
	switch {
	case r < 0x2E80:
		return false
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0x3040 && r <= 0x30FF, r >= 0x3400 && r <= 0x4DBF, r >= 0xF900 && r <= 0xFAFF:
		return r != 0x30FB // the middle dot of kana
	case r >= 0x20000 && r <= 0x3FFFF:
		return unicode.Is(unicode.Han, r)
	}
	return r == '々' || r == '〇'
}

func numeral(r rune) bool {
	switch r {
	case '一', '二', '三', '四', '五', '六', '七', '八', '九', '十', '百', '千', '万', '亿', '〇', '零', '两':
		return true
	}
	return false
}

// endsTerm tells characters that technical terms of Chinese are made with.
func endsTerm(r rune) bool {
	switch r {
	case '率', '度', '性', '器', '值', '量', '型', '码', '键', '域', '参', '函', '素', '酶', '酸', '剂', '阀', '频', '压', '载', '径', '税', '款', '额', '债', '股', '权', '义', '约', '条':
		return true
	}
	return false
}

// tells marks characters of narration in Chinese.
func tells(r rune) bool {
	switch r {
	case '他', '她', '我', '你', '咱', '说', '道', '着', '笑', '哭', '问', '走', '爱', '想', '妈', '爸', '吗', '呢', '吧', '啊':
		return true
	}
	return false
}

// storyWord tells words of narration in English by their hashes.
func storyWord(h uint64) bool {
	switch h {
	case hI, hHe, hShe, hThey, hWe, hYou, hHim, hHer, hHis, hThem, hUs, hMe, hMy, hOur, hSaid, hWas, hWere, hHad, hThen, hAsked, hWent, hCame, hTold, hThought:
		return true
	}
	return false
}
