// SPDX-License-Identifier: MIT
package conformance;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** As much of JSON as the conformance suite speaks. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Map<?, ?> read(String text) {
        return (Map<?, ?>) new Json(text).value();
    }

    private char next() {
        while (Character.isWhitespace(text.charAt(at)))
            at++;
        return text.charAt(at);
    }

    private Object value() {
        char first = next();
        if (first == '"')
            return string();
        if (first == '{' || first == '[')
            return items(first == '{');
        int start = at;
        while (at < text.length() && "0123456789.-+eEtrufalsn".indexOf(text.charAt(at)) >= 0)
            at++;
        String word = text.substring(start, at);
        return switch (word) {
            case "true" -> true;
            case "false" -> false;
            case "null" -> null;
            default -> (Object) Long.parseLong(word);
        };
    }

    private Object items(boolean object) {
        Map<String, Object> map = new LinkedHashMap<>();
        List<Object> list = new ArrayList<>();
        for (at++; next() != (object ? '}' : ']');) {
            if (next() == ',') {
                at++;
                continue;
            }
            String key = object ? (String) value() : null;
            if (object && next() == ':')
                at++;
            Object value = value();
            list.add(value);
            map.put(key, value);
        }
        at++;
        return object ? map : list;
    }

    private String string() {
        StringBuilder string = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            char c = text.charAt(at);
            if (c != '\\') {
                string.append(c);
                continue;
            }
            c = text.charAt(++at);
            switch (c) {
                case 'n' -> string.append('\n');
                case 't' -> string.append('\t');
                case 'u' -> {
                    string.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                    at += 4;
                }
                default -> string.append(c);
            }
        }
        at++;
        return string.toString();
    }

    static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            List<String> parts = new ArrayList<>();
            map.forEach((key, item) -> parts.add(write(key) + ": " + write(item)));
            return "{" + String.join(", ", parts) + "}";
        }
        if (value instanceof List<?> list)
            return "[" + String.join(", ", list.stream().map(Json::write).toList()) + "]";
        if (value instanceof String string) {
            StringBuilder escaped = new StringBuilder("\"");
            for (char c : string.toCharArray())
                escaped.append(c < ' ' || c == '"' || c == '\\' || c > 126 ? String.format("\\u%04x", (int) c) : String.valueOf(c));
            return escaped.append('"').toString();
        }
        return String.valueOf(value);
    }
}
