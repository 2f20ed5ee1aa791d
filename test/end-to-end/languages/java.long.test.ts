// Alone: one file for each language, so that its programs do not share the processors.

import t from 'tap'
import { PROGRAMS_MS, testLanguage } from './gateway-checks.ts'
import { whyNotBuilt } from './toolchains.ts'

t.test('the SDKs of Java and LangChain4j', { skip: whyNotBuilt('java'), timeout: PROGRAMS_MS }, t =>
  testLanguage(t, 'java', {
    'openai-java': 9,
    'openai-java responses': 4,
    'anthropic-java': 7,
    'google-genai java': 9,
    'langchain4j-open-ai': 4,
    'langchain4j-anthropic': 4,
    'langchain4j-google-ai-gemini': 4
  })
)
