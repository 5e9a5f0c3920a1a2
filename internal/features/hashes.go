package features

// The hashes of the words of narration; TestStoryWords holds them against the words.
const (
	hI       uint64 = 0xaf63e44c8601fa24
	hHe      uint64 = 0x8ba5307b55eaf76
	hShe     uint64 = 0x8245aa195cea9e21
	hThey    uint64 = 0x2579baef323cf77f
	hWe      uint64 = 0x8cb5307b56d22a9
	hYou     uint64 = 0xb5617c19799ea15c
	hHim     uint64 = 0x3373311930068ff5
	hHer     uint64 = 0x334a1a192fe363cc
	hHis     uint64 = 0x337323193006782b
	hThem    uint64 = 0x2579c6ef323d0be3
	hUs      uint64 = 0x8c43d07b566de99
	hMe      uint64 = 0x8a95f07b55050a7
	hMy      uint64 = 0x8a94307b5502113
	hOur     uint64 = 0x19f7991921bbcc99
	hSaid    uint64 = 0x96e4d18bf89481c
	hWas     uint64 = 0x5eade819487cb532
	hWere    uint64 = 0x3db3f1f61a19018c
	hHad     uint64 = 0x335808192fef8292
	hThen    uint64 = 0x2579c7ef323d0d96
	hAsked   uint64 = 0xfb0ab6bc4db98323
	hWent    uint64 = 0x3d7002f619df51a3
	hCame    uint64 = 0xb5135d90e8393d8b
	hTold    uint64 = 0x2fd9f6ef389a0874
	hThought uint64 = 0x8585028b660e6ab2
)
