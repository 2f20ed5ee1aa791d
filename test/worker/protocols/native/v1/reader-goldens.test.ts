import { nativeV1Face } from '../../../../../worker/protocols/native/v1/face.ts'
import { testGoldens } from '../goldens.ts'

testGoldens('native-v1', nativeV1Face)
