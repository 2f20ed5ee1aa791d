// Alone: one file for each language, so that its programs do not share the processors.

import t from 'tap'
import { PROGRAMS_MS, testLanguage } from './gateway-checks.ts'
import { whyNotBuilt } from './toolchains.ts'

t.test('the SDKs of Go and langchaingo', { skip: whyNotBuilt('go'), timeout: PROGRAMS_MS }, t =>
  testLanguage(t, 'go', {
    'openai-go': 10,
    'openai-go responses': 4,
    'anthropic-sdk-go': 8,
    'go-genai': 10,
    langchaingo: 3
  })
)
